// Sums, counts and gathers of rows by index. An index that names no row is left out, or gives a missing element.

#include "arithmetic.h"

// The row counted from another; one that is below it, or below 0, is a huge number.
template <class I>
INLINE uint64_t rowFrom(const void* index, int64_t n, int64_t first) {
  return (uint64_t)(int64_t)((const I*)index)[n] - (uint64_t)first;
}

// Every task reads the whole index, and adds up its own rows and columns in scratch memory in the order of the entries.
template <class S, class D, class I>
struct ScatterDirect {
  static void run(const ScatterArgs& g, int64_t begin, int64_t end, double* sums) {
    const int64_t strips = (g.columns + g.columnsPerTask - 1) / g.columnsPerTask;
    for (int64_t task = begin; task < end; task++) {
      const int64_t r0 = task / strips * g.rowsPerTask, rows = least(g.rowsPerTask, g.rows - r0);
      const int64_t c0 = task % strips * g.columnsPerTask, columns = least(g.columnsPerTask, g.columns - c0);
      for (int64_t i = 0; i < rows * columns; i++) sums[i] = 0;
      for (int64_t n = 0; n < g.count; n++) {
        const uint64_t r = rowFrom<I>(g.index, n, r0);
        if (r >= (uint64_t)rows) continue;
        const S* const from = (const S*)g.values + n * g.valueStride + c0;
        double* const to = sums + r * columns;
        for (int64_t c = 0; c < columns; c++) to[c] += (double)from[c];
      }
      for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
          ((D*)g.out)[(r0 + r) * g.columns + c0 + c] = (D)sums[r * columns + c];
    }
  }
};

// Columns of one pass over the entries of a row.
constexpr int64_t kStrip = 64;

// Every task sorts the entries of its own rows into its own part of the workspace, by counting, and adds each row up in their order.
template <class S, class D, class I>
struct ScatterSorted {
  static void run(const ScatterArgs& g, int64_t begin, int64_t end, int32_t* workspace) {
    for (int64_t task = begin; task < end; task++) {
      const int64_t r0 = task * g.rowsPerTask, rows = least(g.rowsPerTask, g.rows - r0);
      const int64_t before = sort(g, r0, rows, workspace, workspace + g.count + r0);
      for (int64_t r = 0; r < rows; r++) addUp(g, workspace, r0 + r, r == 0 ? before : workspace[g.count + r0 + r - 1]);
    }
  }

  // Gives the number of entries of the rows before; `ends` of each row is where its entries end.
  static int64_t sort(const ScatterArgs& g, int64_t r0, int64_t rows, int32_t* order, int32_t* ends) {
    for (int64_t r = 0; r < rows; r++) ends[r] = 0;
    int64_t before = 0;
    for (int64_t n = 0; n < g.count; n++) {
      before += rowFrom<I>(g.index, n, 0) < (uint64_t)r0;
      const uint64_t r = rowFrom<I>(g.index, n, r0);
      if (r < (uint64_t)rows) ends[r]++;
    }
    int64_t at = before;
    for (int64_t r = 0; r < rows; r++) {
      const int64_t entries = ends[r];
      ends[r] = (int32_t)at;
      at += entries;
    }
    for (int64_t n = 0; n < g.count; n++) {
      const uint64_t r = rowFrom<I>(g.index, n, r0);
      if (r < (uint64_t)rows) order[ends[r]++] = (int32_t)n;
    }
    return before;
  }

  static void addUp(const ScatterArgs& g, const int32_t* order, int64_t row, int64_t first) {
    const int64_t last = order[g.count + row];
    for (int64_t c0 = 0; c0 < g.columns; c0 += kStrip) {
      const int64_t columns = least(kStrip, g.columns - c0);
      double sums[kStrip] = {};
      for (int64_t k = first; k < last; k++) {
        const S* const from = (const S*)g.values + order[k] * g.valueStride + c0;
        for (int64_t c = 0; c < columns; c++) sums[c] += (double)from[c];
      }
      for (int64_t c = 0; c < columns; c++) ((D*)g.out)[row * g.columns + c0 + c] = (D)sums[c];
    }
  }
};

template <template <class S, class D, class I> class Kernel, class Memory>
static void scatterOf(const ScatterArgs& g, int64_t begin, int64_t end, Memory* memory) {
  switch (4 * (g.from64 != 0) + 2 * (g.to64 != 0) + (g.index64 != 0)) {
    case 0:
      return Kernel<float, float, int32_t>::run(g, begin, end, memory);
    case 1:
      return Kernel<float, float, int64_t>::run(g, begin, end, memory);
    case 2:
      return Kernel<float, double, int32_t>::run(g, begin, end, memory);
    case 3:
      return Kernel<float, double, int64_t>::run(g, begin, end, memory);
    case 4:
      return Kernel<double, float, int32_t>::run(g, begin, end, memory);
    case 5:
      return Kernel<double, float, int64_t>::run(g, begin, end, memory);
    case 6:
      return Kernel<double, double, int32_t>::run(g, begin, end, memory);
    default:
      return Kernel<double, double, int64_t>::run(g, begin, end, memory);
  }
}

static void scatterAdd(const void* args, int64_t begin, int64_t end, void* scratch) {
  scatterOf<ScatterDirect>(*(const ScatterArgs*)args, begin, end, (double*)scratch);
}

static void scatterAddSorted(const void* args, int64_t begin, int64_t end, void*) {
  const ScatterSortedArgs& g = *(const ScatterSortedArgs*)args;
  scatterOf<ScatterSorted>(g.scatter, begin, end, g.workspace);
}

// Tasks own rows.
template <class I, class D>
static void countRowsOf(const CountRowsArgs& g, int64_t begin, int64_t end) {
  for (int64_t task = begin; task < end; task++) {
    const int64_t r0 = task * g.rowsPerTask, rows = least(g.rowsPerTask, g.rows - r0);
    D* const to = (D*)g.out + r0;
    for (int64_t r = 0; r < rows; r++) to[r] = 0;
    for (int64_t n = 0; n < g.count; n++) {
      const uint64_t r = rowFrom<I>(g.index, n, r0);
      if (r < (uint64_t)rows) to[r]++;
    }
  }
}

static void countRows(const void* args, int64_t begin, int64_t end, void*) {
  const CountRowsArgs& g = *(const CountRowsArgs*)args;
  if (g.index64 != 0)
    g.to64 != 0 ? countRowsOf<int64_t, int64_t>(g, begin, end) : countRowsOf<int64_t, int32_t>(g, begin, end);
  else
    g.to64 != 0 ? countRowsOf<int32_t, int64_t>(g, begin, end) : countRowsOf<int32_t, int32_t>(g, begin, end);
}

// Entries of one task of a gather.
constexpr int64_t kGatherEntries = 256;

template <class T, class I>
static void gatherRowsOf(const GatherRowsArgs& g, T missing, int64_t begin, int64_t end) {
  const int64_t last = least(end * kGatherEntries, g.count);
  for (int64_t n = begin * kGatherEntries; n < last; n++) {
    const uint64_t r = rowFrom<I>(g.index, n, 0);
    T* const to = (T*)g.out + n * g.columns;
    if (r < (uint64_t)g.rows) {
      const T* const from = (const T*)g.x + (int64_t)r * g.tableStride;
      for (int64_t c = 0; c < g.columns; c++) to[c] = from[c];
    } else {
      for (int64_t c = 0; c < g.columns; c++) to[c] = missing;
    }
  }
}

template <class T>
static void gatherBy(const GatherRowsArgs& g, uint64_t missing, int64_t begin, int64_t end) {
  if (g.index64 != 0)
    gatherRowsOf<T, int64_t>(g, (T)missing, begin, end);
  else
    gatherRowsOf<T, int32_t>(g, (T)missing, begin, end);
}

static void gatherRows(const void* args, int64_t begin, int64_t end, void*) {
  const GatherRowsArgs& g = *(const GatherRowsArgs*)args;
  // by the types' numbers: a quiet NaN, or 0 where there is none
  static const uint64_t kMissing[8] = {0x7ff8000000000000u, 0x7fc00000u, 0x7e00u, 0x7fc0u, 0, 0, 0, 0};
  const uint64_t missing = kMissing[g.type];
  switch (kElementBytes[g.type]) {
    case 8:
      return gatherBy<uint64_t>(g, missing, begin, end);
    case 4:
      return gatherBy<uint32_t>(g, missing, begin, end);
    case 2:
      return gatherBy<uint16_t>(g, missing, begin, end);
    default:
      return gatherBy<uint8_t>(g, missing, begin, end);
  }
}
