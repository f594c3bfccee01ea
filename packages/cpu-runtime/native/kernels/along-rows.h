// Rows in order, and sums up to each element.

#include "arithmetic.h"
#include "rows.h"

// What a bit pattern of a number is sorted by: whole numbers in its order, equal for both zeros, and the last for NaN.
template <class B, int64_t TYPE, int EXPONENT>
struct FloatKey {
  using Bits = B;
  static constexpr int64_t kType = TYPE;
  static constexpr int kWidth = 8 * sizeof(B);
  static constexpr B kSign = (B)1 << (kWidth - 1), kInfinity = (((B)1 << EXPONENT) - 1) << (kWidth - 1 - EXPONENT);
  static B key(B bits) { return (bits & kSign) != 0 ? ~bits : bits | kSign; }
  static bool isNaN(B bits) { return (bits & ~kSign) > kInfinity; }
  static B plain(B bits) { return bits == kSign ? 0 : bits; }
};

template <class B, int64_t TYPE>
struct WholeKey {
  using Bits = B;
  static constexpr int64_t kType = TYPE;
  static Bits key(Bits bits) { return bits ^ (Bits)1 << (8 * sizeof(Bits) - 1); }
  static bool isNaN(Bits) { return false; }
  static Bits plain(Bits bits) { return bits; }
};

template <class B>
struct Keyed {
  B key;
  int32_t place;
};

// Rows up to this length are sorted by insertion.
constexpr int64_t kShortRow = 32;

template <class B>
static void insertionSort(Keyed<B>* row, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const Keyed<B> one = row[i];
    int64_t j = i;
    for (; j > 0 && row[j - 1].key > one.key; j--) row[j] = row[j - 1];
    row[j] = one;
  }
}

// A radix sort, a byte at a time from the lowest on; bytes that all keys share are passed over. Gives where the result is.
template <class B>
static Keyed<B>* radixSort(Keyed<B>* row, Keyed<B>* other, int64_t n) {
  constexpr int kBytes = sizeof(B);
  int64_t counts[kBytes][256] = {};
  for (int64_t i = 0; i < n; i++)
    for (int b = 0; b < kBytes; b++) counts[b][row[i].key >> (8 * b) & 255]++;
  for (int b = 0; b < kBytes; b++) {
    int64_t* const places = counts[b];
    if (places[row[0].key >> (8 * b) & 255] == n) continue;
    int64_t before = 0;
    for (int digit = 0; digit < 256; digit++) {
      const int64_t count = places[digit];
      places[digit] = before;
      before += count;
    }
    for (int64_t i = 0; i < n; i++) other[places[row[i].key >> (8 * b) & 255]++] = row[i];
    Keyed<B>* const sorted = other;
    other = row;
    row = sorted;
  }
  return row;
}

constexpr int64_t kSortBatch = 256;

template <class K>
static void argSortOf(const ArgSortArgs& p, int64_t begin, int64_t end) {
  using B = typename K::Bits;
  const RowFn load = ROWS[p.type][K::kType];
  const int64_t bytes = kElementBytes[p.type], last = least(end * p.rowsPerTask, p.rows);
  alignas(8) uint8_t batch[kSortBatch * sizeof(B)];  // elements of K's type, whose bits are read
  for (int64_t r = begin * p.rowsPerTask; r < last; r++) {
    Keyed<B>* row = (Keyed<B>*)p.keys + 2 * r * p.count;
    for (int64_t first = 0; first < p.count; first += kSortBatch) {
      const int64_t count = least(kSortBatch, p.count - first);
      load(batch, 1, p.src + (r * p.rowStride + first * p.stride) * bytes, p.stride, count);
      for (int64_t i = 0; i < count; i++) {
        B bits;
        __builtin_memcpy(&bits, batch + i * sizeof(B), sizeof(B));
        bits = K::plain(bits);
        const B key = K::key(bits);
        row[first + i] = {K::isNaN(bits) ? (B)~(B)0 : p.descending != 0 ? (B)~key : key, (int32_t)(first + i)};
      }
    }
    if (p.count <= kShortRow)
      insertionSort(row, p.count);
    else
      row = radixSort(row, row + p.count, p.count);
    for (int64_t i = 0; i < p.count; i++) p.dst[r * p.count + i] = row[i].place;
  }
}

static void argSort(const void* args, int64_t begin, int64_t end, void*) {
  const ArgSortArgs& p = *(const ArgSortArgs*)args;
  if (p.type == 0) return argSortOf<FloatKey<uint64_t, 0, 11>>(p, begin, end);
  if (p.type < 4) return argSortOf<FloatKey<uint32_t, 1, 8>>(p, begin, end);
  if (p.type == 4) return argSortOf<WholeKey<uint64_t, 4>>(p, begin, end);
  argSortOf<WholeKey<uint32_t, 5>>(p, begin, end);
}

constexpr int64_t kSumBatch = 256;

// Sums along a row in the order of its elements. Of 0 elements the sum is -0, which changes no number that it is added to.
template <class A>
static void sumsAlongRows(const CumSumArgs& p, int64_t begin, int64_t end, A none, int64_t type) {
  const RowFn load = ROWS[p.type][type], store = ROWS[type][p.to];
  const int64_t in = kElementBytes[p.type], out = kElementBytes[p.to], last = least(end * p.rowsPerTask, p.rows);
  A batch[kSumBatch];
  for (int64_t r = begin * p.rowsPerTask; r < last; r++) {
    A sum = none;
    for (int64_t first = 0; first < p.count; first += kSumBatch) {
      const int64_t count = least(kSumBatch, p.count - first);
      load(batch, 1, p.src + (r * p.rowStride + first * p.stride) * in, p.stride, count);
      for (int64_t i = 0; i < count; i++) batch[i] = sum += batch[i];
      store(p.dst + (r * p.dstRowStride + first * p.dstStride) * out, p.dstStride, batch, 1, count);
    }
  }
}

// The same where neighbouring rows lie closer than neighbouring elements of a row: some rows at a time.
template <class A>
static void sumsAcrossRows(const CumSumArgs& p, int64_t begin, int64_t end, A none, int64_t type) {
  const RowFn load = ROWS[p.type][type], store = ROWS[type][p.to];
  const int64_t in = kElementBytes[p.type], out = kElementBytes[p.to], last = least(end * p.rowsPerTask, p.rows);
  A sums[kSumBatch], batch[kSumBatch];
  for (int64_t r = begin * p.rowsPerTask; r < last; r += kSumBatch) {
    const int64_t rows = least(kSumBatch, last - r);
    for (int64_t i = 0; i < rows; i++) sums[i] = none;
    for (int64_t j = 0; j < p.count; j++) {
      load(batch, 1, p.src + (r * p.rowStride + j * p.stride) * in, p.rowStride, rows);
      for (int64_t i = 0; i < rows; i++) sums[i] += batch[i];
      store(p.dst + (r * p.dstRowStride + j * p.dstStride) * out, p.dstRowStride, sums, 1, rows);
    }
  }
}

static void cumSum(const void* args, int64_t begin, int64_t end, void*) {
  const CumSumArgs& p = *(const CumSumArgs*)args;
  const bool across = p.rows > 1 && p.count > 1 && (p.rowStride < 0 ? -p.rowStride : p.rowStride) < (p.stride < 0 ? -p.stride : p.stride);
  // whole numbers are added modulo 2^64
  if (p.to == 4)
    across ? sumsAcrossRows<uint64_t>(p, begin, end, 0, 4) : sumsAlongRows<uint64_t>(p, begin, end, 0, 4);
  else
    across ? sumsAcrossRows<double>(p, begin, end, -0.0, 0) : sumsAlongRows<double>(p, begin, end, -0.0, 0);
}
