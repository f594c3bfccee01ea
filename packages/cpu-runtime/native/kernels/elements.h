// Copies, casts, fills and sums over strided elements.

#include "arithmetic.h"
#include "rows.h"

// Elements of one task: small enough to balance threads, large enough to hide the hand-over.
constexpr int64_t kTaskElements = 32768;
constexpr int64_t kTile = 64;

// Adds the strides of element `rest` of the first `count` dimensions.
INLINE void offsets(int64_t rest, int64_t count, const int64_t* n, const int64_t* s, const int64_t* d, int64_t* from,
                    int64_t* to) {
  for (int64_t i = count - 1; i >= 0; i--) {
    const int64_t q = i == 0 ? 0 : quotient(rest, n[i]), at = rest - q * n[i];
    rest = q;
    *from += at * s[i], *to += at * d[i];
  }
}

// Tasks along the last dimension.
static void copyRuns(const CopyArgs& p, int64_t begin, int64_t end) {
  const RowFn move = ROWS[p.from][p.to];
  const int64_t in = kElementBytes[p.from], out = kElementBytes[p.to], last = p.rank - 1;
  const int64_t inner = p.n[last], ss = p.s[last], ds = p.d[last];
  int64_t total = inner;
  for (int64_t i = 0; i < last; i++) total *= p.n[i];
  const int64_t stop = least(end * kTaskElements, total);
  for (int64_t at = begin * kTaskElements; at < stop;) {
    const int64_t line = quotient(at, inner), x0 = at - line * inner, run = least(inner - x0, stop - at);
    int64_t from = x0 * ss, to = x0 * ds;
    offsets(line, last, p.n, p.s, p.d, &from, &to);
    move(p.dst + to * out, ds, p.src + from * in, ss, run);
    at += run;
  }
}

// Square tiles, so that a cache line read across the source is used by the rows that follow.
static void copyTiles(const CopyArgs& p, int64_t begin, int64_t end) {
  const RowFn move = ROWS[p.from][p.to];
  const int64_t in = kElementBytes[p.from], out = kElementBytes[p.to], x = p.rank - 1, y = p.rank - 2;
  const int64_t across = (p.n[x] + kTile - 1) / kTile, down = (p.n[y] + kTile - 1) / kTile;
  for (int64_t t = begin; t < end; t++) {
    const int64_t plane = quotient(t, across), x0 = (t - plane * across) * kTile;
    const int64_t rest = quotient(plane, down), y0 = (plane - rest * down) * kTile;
    int64_t from = 0, to = 0;
    offsets(rest, y, p.n, p.s, p.d, &from, &to);
    const int64_t w = least(kTile, p.n[x] - x0), last = y0 + least(kTile, p.n[y] - y0);
    for (int64_t j = y0; j < last; j++)
      move(p.dst + (to + j * p.d[y] + x0) * out, 1, p.src + (from + j * p.s[y] + x0 * p.s[x]) * in, p.s[x], w);
  }
}

static void copy(const void* args, int64_t begin, int64_t end, void*) {
  const CopyArgs& p = *(const CopyArgs*)args;
  if (p.tiled != 0)
    copyTiles(p, begin, end);
  else
    copyRuns(p, begin, end);
}

// A fill is a copy of one element that does not move.
static void fill(const void* args, int64_t begin, int64_t end, void*) {
  const FillArgs& p = *(const FillArgs*)args;
  CopyArgs copied = {(const uint8_t*)p.bits, p.dst, p.type, p.type, 0, p.rank, {}, {}, {}};
  for (int64_t i = 0; i < p.rank; i++) copied.n[i] = p.n[i], copied.d[i] = p.d[i];
  copyRuns(copied, begin, end);
}

// Outputs of one task of a sum.
constexpr int64_t kSumSpan = 256;

// In double precision, in the order of the terms.
template <class S, class D>
static void sumOf(const SumArgs& p, int64_t begin, int64_t end) {
  const int64_t spans = (p.inner + kSumSpan - 1) / kSumSpan;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t o = task / spans, first = task % spans * kSumSpan, width = least(kSumSpan, p.inner - first);
    double sum[kSumSpan] = {};
    for (int64_t j = 0; j < p.count; ++j) {
      const S* from = (const S*)p.src + o * p.strideOuter + j * p.strideCount + first * p.strideInner;
      if (p.strideInner == 1) {
        for (int64_t i = 0; i < width; ++i) sum[i] += (double)from[i];
      } else {
        for (int64_t i = 0; i < width; ++i) sum[i] += (double)from[i * p.strideInner];
      }
    }
    for (int64_t i = 0; i < width; ++i) ((D*)p.dst)[o * p.inner + first + i] = (D)sum[i];
  }
}

static void sum(const void* args, int64_t begin, int64_t end, void*) {
  const SumArgs& p = *(const SumArgs*)args;
  if (p.from64 != 0)
    p.to64 != 0 ? sumOf<double, double>(p, begin, end) : sumOf<double, float>(p, begin, end);
  else
    p.to64 != 0 ? sumOf<float, double>(p, begin, end) : sumOf<float, float>(p, begin, end);
}
