// Rows of elements from one type to another. The conversions are generated: the rules are those of compiled kernels.
#include "generated/conversions.h"

typedef void (*RowFn)(void* to, int64_t toStride, const void* from, int64_t fromStride, int64_t count);

template <class S, class D, D (*CONVERT)(S)>
static void row(void* to, int64_t toStride, const void* from, int64_t fromStride, int64_t count) {
  const S* __restrict__ s = (const S*)from;
  D* __restrict__ d = (D*)to;
  if (toStride == 1 && fromStride == 1) {
    for (int64_t i = 0; i < count; i++) d[i] = CONVERT(s[i]);
  } else if (toStride == 1 && fromStride == 0) {
    const D value = CONVERT(*s);
    for (int64_t i = 0; i < count; i++) d[i] = value;
  } else {
    for (int64_t i = 0; i < count; i++) d[i * toStride] = CONVERT(s[i * fromStride]);
  }
}

// By the types' numbers: float64, float32, float16, bfloat16, int64, int32, uint8, bool, then raw elements of 1, 2, 4, 8 bytes.
static const RowFn ROWS[12][12] = {MERCER_ROWS};
static const int64_t ELEMENT_BYTES[12] = {8, 4, 2, 2, 8, 4, 1, 1, 1, 2, 4, 8};

// Copies and casts of strided elements.
struct CopyFamily {
  static constexpr int64_t kTask = 32768, kTile = 64;

  static int64_t product(const int64_t* n, int64_t count) {
    int64_t total = 1;
    for (int64_t i = 0; i < count; i++) total *= n[i];
    return total;
  }

  static Cut cut(const View& view, const void* args, int64_t) {
    const int32_t* s = view.settings;
    const int64_t* n = (const int64_t*)args + 2;
    const int64_t rank = s[3];
    if (s[2] < 2) return Cut{(product(n, s[2] == 0 ? 1 : rank) + kTask - 1) / kTask, 1, 0, 0};
    const int64_t across = (n[rank - 1] + kTile - 1) / kTile, down = (n[rank - 2] + kTile - 1) / kTile;
    return Cut{product(n, rank - 2) * across * down, 4, 0, 0};
  }

  static void offsets(int64_t rest, int64_t count, const int64_t* n, int64_t rank, int64_t* from, int64_t* to) {
    for (int64_t i = count - 1; i >= 0; i--) {
      const int64_t at = rest % n[i];
      rest /= n[i];
      *from += at * n[rank + i], *to += at * n[2 * rank + i];
    }
  }

  static void run(const View& view, const void* args, int64_t begin, int64_t end) {
    const int32_t* s = view.settings;
    const int64_t* n = (const int64_t*)args + 2;
    const uint8_t* source = *(const uint8_t* const*)args;
    uint8_t* target = ((uint8_t* const*)args)[1];
    const RowFn move = ROWS[s[0]][s[1]];
    const int64_t in = ELEMENT_BYTES[s[0]], out = ELEMENT_BYTES[s[1]], rank = s[3];
    if (s[2] == 0) {
      const int64_t first = begin * kTask, last = end * kTask < n[0] ? end * kTask : n[0];
      move(target + first * out, 1, source + first * in, 1, last - first);
      return;
    }
    if (s[2] == 1) {
      const int64_t inner = n[rank - 1], total = product(n, rank);
      const int64_t ss = n[2 * rank - 1], ds = n[3 * rank - 1];
      const int64_t stop = end * kTask < total ? end * kTask : total;
      for (int64_t at = begin * kTask; at < stop;) {
        const int64_t line = at / inner, x0 = at - line * inner;
        const int64_t run = inner - x0 < stop - at ? inner - x0 : stop - at;
        int64_t from = x0 * ss, to = x0 * ds;
        offsets(line, rank - 1, n, rank, &from, &to);
        move(target + to * out, ds, source + from * in, ss, run);
        at += run;
      }
      return;
    }
    const int64_t width = n[rank - 1], height = n[rank - 2];
    const int64_t across = (width + kTile - 1) / kTile, down = (height + kTile - 1) / kTile;
    const int64_t sx = n[2 * rank - 1], sy = n[2 * rank - 2], dy = n[3 * rank - 2];
    for (int64_t t = begin; t < end; t++) {
      const int64_t x0 = t % across * kTile, y0 = t / across % down * kTile;
      int64_t from = 0, to = 0;
      offsets(t / across / down, rank - 2, n, rank, &from, &to);
      const int64_t w = width - x0 < kTile ? width - x0 : kTile, h = height - y0 < kTile ? height - y0 : kTile;
      for (int64_t y = y0; y < y0 + h; y++)
        move(target + (to + y * dy + x0) * out, 1, source + (from + y * sy + x0 * sx) * in, sx, w);
    }
  }
};
