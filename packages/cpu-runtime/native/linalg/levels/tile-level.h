// Tile kernels for one instruction set: included once by each file of this folder, which defines MERCER_TILE_LEVEL (a name of C), its
// text, the bytes of a vector and the columns of the register block. Compiled with other flags than the rest of the addon, so
// nothing here may come from the standard library but types: an inline function of it could be the copy that the linker
// keeps for everybody.
#include "../tile-kernels.h"

#define INLINE inline __attribute__((always_inline))

namespace mercer::cpu {
namespace {

template <class T>
struct Simd {
  typedef T V __attribute__((vector_size(MERCER_TILE_BYTES)));
  static constexpr int kLanes = MERCER_TILE_BYTES / sizeof(T);
  static constexpr int kRows = 3 * kLanes;  // of the register block
  static constexpr int kColumns = MERCER_TILE_COLUMNS;
};

// Blocks of the packed operands: a strip of b stays in the first cache, the block of a in the second. Multiples of every kRows.
constexpr int64_t kBlockRows = 144, kBlockColumns = 512, kBlockSteps = 256;

INLINE int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

template <class T>
INLINE T magnitude(T x) { return x < 0 ? -x : x; }

// Strips of `kWidth` lines that are `line` apart, each with `steps` elements `step` apart: element by element, the lines together.
// The last strip is filled up with zeros to a multiple of `kUnit` lines.
template <int kWidth, int kUnit, class T>
void packStrips(const T* from, int64_t lines, int64_t line, int64_t steps, int64_t step, T* to) {
  for (int64_t first = 0; first < lines; first += kWidth) {
    const int64_t count = least(kWidth, lines - first);
    const T* strip = from + first * line;
    if (count < kWidth) {
      const int64_t filled = (count + kUnit - 1) / kUnit * kUnit;
      for (int64_t p = 0; p < steps; ++p) {
        if (line == 1)
          for (int64_t i = 0; i < count; ++i) to[p * kWidth + i] = strip[i + p * step];
        else
          for (int64_t i = 0; i < count; ++i) to[p * kWidth + i] = strip[i * line + p * step];
        for (int64_t i = count; i < filled; ++i) to[p * kWidth + i] = 0;
      }
    } else if (line == 1) {
      for (int64_t p = 0; p < steps; ++p)
        for (int i = 0; i < kWidth; ++i) to[p * kWidth + i] = strip[p * step + i];
    } else {
      // A few steps at a time, so that both sides stay in the cache.
      constexpr int64_t kTogether = 16;
      for (int64_t begin = 0; begin < steps; begin += kTogether) {
        const int64_t end = least(begin + kTogether, steps);
        for (int i = 0; i < kWidth; ++i)
          for (int64_t p = begin; p < end; ++p) to[p * kWidth + i] = strip[i * line + p * step];
      }
    }
    to += kWidth * steps;
  }
}

// One register block of the product of two packed strips, by columns: its first kVectors vectors of rows.
template <class T, int kVectors>
INLINE void registerBlock(int64_t steps, const T* a, const T* b, T* block) {
  using S = Simd<T>;
  typedef typename S::V V;
  V sum[S::kColumns][kVectors];
#pragma GCC unroll 16
  for (int j = 0; j < S::kColumns; ++j)
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) sum[j][i] = V{};
  for (int64_t p = 0; p < steps; ++p) {
    V rows[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
      rows[i] = *reinterpret_cast<const V*>(a + p * S::kRows + i * S::kLanes);
#pragma GCC unroll 16
    for (int j = 0; j < S::kColumns; ++j) {
      const T column = b[p * S::kColumns + j];
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sum[j][i] += rows[i] * column;
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < S::kColumns; ++j)
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
      *reinterpret_cast<V*>(block + j * S::kRows + i * S::kLanes) = sum[j][i];
}

// c += alpha block, for the part of the block that c has.
template <class T>
INLINE void addBlock(const T* block, int64_t m, int64_t n, T alpha, T* c, int64_t row, int64_t lead) {
  constexpr int kRows = Simd<T>::kRows;
  for (int64_t j = 0; j < n; ++j) {
    T* column = c + j * lead;
    const T* from = block + j * kRows;
    if (row != 1)
      for (int64_t i = 0; i < m; ++i) column[i * row] += alpha * from[i];
    else if (m == kRows)
      for (int i = 0; i < kRows; ++i) column[i] += alpha * from[i];
    else
      for (int64_t i = 0; i < m; ++i) column[i] += alpha * from[i];
  }
}

template <class T>
void scale(int64_t m, int64_t n, T beta, T* c, int64_t row, int64_t column) {
  if (beta == 1) return;
  for (int64_t j = 0; j < n; ++j) {
    T* line = c + j * column;
    if (row == 1 && beta == 0)
      for (int64_t i = 0; i < m; ++i) line[i] = 0;
    else if (beta == 0)
      for (int64_t i = 0; i < m; ++i) line[i * row] = 0;
    else
      for (int64_t i = 0; i < m; ++i) line[i * row] *= beta;
  }
}

// Packed blocks and register blocks as in K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication (2008).
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t aRow, int64_t aColumn,
              const T* b, int64_t bRow, int64_t bColumn, T beta, T* c, int64_t cRow, int64_t cColumn,
              void* scratch) {
  using S = Simd<T>;
  if (cRow != 1 && cColumn == 1)  // by rows: the transposed product
    return multiply<T>(n, m, k, alpha, b, bColumn, bRow, a, aColumn, aRow, beta, c, cColumn, cRow,
                       scratch);
  scale(m, n, beta, c, cRow, cColumn);
  T* const packedA = static_cast<T*>(scratch);
  T* const packedB = packedA + kBlockRows * kBlockSteps;
  alignas(64) T block[S::kRows * S::kColumns];
  for (int64_t jc = 0; jc < n; jc += kBlockColumns) {
    const int64_t columns = least(kBlockColumns, n - jc);
    for (int64_t pc = 0; pc < k; pc += kBlockSteps) {
      const int64_t steps = least(kBlockSteps, k - pc);
      packStrips<S::kColumns, S::kColumns>(b + pc * bRow + jc * bColumn, columns, bColumn, steps, bRow, packedB);
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t rows = least(kBlockRows, m - ic);
        packStrips<S::kRows, S::kLanes>(a + ic * aRow + pc * aColumn, rows, aRow, steps, aColumn, packedA);
        for (int64_t j = 0; j < columns; j += S::kColumns)
          for (int64_t i = 0; i < rows; i += S::kRows) {
            const int64_t height = least(S::kRows, rows - i);
            const T* const left = packedA + i * steps;
            const T* const right = packedB + j * steps;
            if (height > 2 * S::kLanes)
              registerBlock<T, 3>(steps, left, right, block);
            else if (height > S::kLanes)
              registerBlock<T, 2>(steps, left, right, block);
            else
              registerBlock<T, 1>(steps, left, right, block);
            addBlock(block, height, least(S::kColumns, columns - j), alpha,
                     c + (ic + i) * cRow + (jc + j) * cColumn, cRow, cColumn);
          }
      }
    }
  }
}

constexpr int64_t kSolveOrder = 32, kSolveWidth = 64;

// Rows of b become lines of a small block, columns several at a time; four finished lines are subtracted together.
template <class T>
void solve(bool lower, bool unit, int64_t n, int64_t columns, const T* t, int64_t tRow,
           int64_t tColumn, T* b, int64_t bRow, int64_t bColumn) {
  typedef typename Simd<T>::V V;
  constexpr int kLanes = Simd<T>::kLanes;
  constexpr int kVectors = kSolveWidth / kLanes;
  alignas(64) T x[kSolveOrder][kSolveWidth];
  T factor[kSolveOrder][kSolveOrder];
  // An upper triangle is solved from its last row up, which is the same in reversed order.
  const int64_t end = n - 1;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j)
      factor[i][j] = lower ? t[i * tRow + j * tColumn] : t[(end - i) * tRow + (end - j) * tColumn];
  for (int64_t first = 0; first < columns; first += kSolveWidth) {
    const int64_t width = least(kSolveWidth, columns - first);
    const int vectors = static_cast<int>((width + kLanes - 1) / kLanes);
    for (int64_t i = 0; i < n; ++i) {
      const T* row = b + (lower ? i : end - i) * bRow + first * bColumn;
      for (int64_t j = 0; j < width; ++j) x[i][j] = row[j * bColumn];
      for (int64_t j = width; j < vectors * kLanes; ++j) x[i][j] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
      V* row = reinterpret_cast<V*>(x[i]);
      int64_t j = 0;
      for (; j + 4 <= i; j += 4) {
        const V* r0 = reinterpret_cast<const V*>(x[j]);
        const V* r1 = r0 + kVectors;
        const V* r2 = r1 + kVectors;
        const V* r3 = r2 + kVectors;
        const T f0 = factor[i][j], f1 = factor[i][j + 1], f2 = factor[i][j + 2], f3 = factor[i][j + 3];
        for (int l = 0; l < vectors; ++l)
          row[l] -= (r0[l] * f0 + r1[l] * f1) + (r2[l] * f2 + r3[l] * f3);
      }
      for (; j < i; ++j) {
        const V* r0 = reinterpret_cast<const V*>(x[j]);
        const T f0 = factor[i][j];
        for (int l = 0; l < vectors; ++l) row[l] -= r0[l] * f0;
      }
      if (!unit)
        for (int l = 0; l < vectors; ++l) row[l] /= factor[i][i];
    }
    for (int64_t i = 0; i < n; ++i) {
      T* row = b + (lower ? i : end - i) * bRow + first * bColumn;
      for (int64_t j = 0; j < width; ++j) row[j * bColumn] = x[i][j];
    }
  }
}

constexpr int64_t kCholeskyOrder = 32;

INLINE float root(float x) { return __builtin_sqrtf(x); }
INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T>
int64_t cholesky(int64_t n, T* a, int64_t lead) {
  for (int64_t j = 0; j < n; ++j) {
    T* __restrict column = a + j * lead;
    const T pivot = column[j];
    if (!(pivot > 0)) return j + 1;
    const T diagonal = root(pivot);
    column[j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) column[i] /= diagonal;
    for (int64_t l = j + 1; l < n; ++l) {
      T* __restrict other = a + l * lead;
      const T factor = column[l];
      for (int64_t i = l; i < n; ++i) other[i] -= factor * column[i];
    }
  }
  return 0;
}

constexpr int64_t kPanelColumns = 16;

// The first row of the largest magnitude.
template <class T>
int64_t largest(const T* x, int64_t count) {
  typedef typename Simd<T>::V V;
  constexpr int kLanes = Simd<T>::kLanes;
  typedef T U __attribute__((vector_size(MERCER_TILE_BYTES), aligned(sizeof(T))));
  V most = V{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    V value = *reinterpret_cast<const U*>(x + i);
    value = value < 0 ? -value : value;
    most = value > most ? value : most;
  }
  T best = 0;
  for (int l = 0; l < kLanes; ++l) best = most[l] > best ? most[l] : best;
  for (; i < count; ++i) best = magnitude(x[i]) > best ? magnitude(x[i]) : best;
  for (int64_t at = 0; at < count; ++at)
    if (magnitude(x[at]) == best) return at;
  return 0;  // NaN, from an overflow
}

template <class T>
int64_t lu(int64_t m, int64_t n, T* a, int64_t lead, int64_t* pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < n; ++j) {
    T* __restrict column = a + j * lead;
    const int64_t pivot = j + largest(column + j, m - j);
    pivots[j] = pivot;
    if (pivot != j)
      for (int64_t l = 0; l < n; ++l) {
        const T held = a[j + l * lead];
        a[j + l * lead] = a[pivot + l * lead];
        a[pivot + l * lead] = held;
      }
    const T diagonal = column[j];
    if (diagonal == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int64_t i = j + 1; i < m; ++i) column[i] /= diagonal;
    for (int64_t l = j + 1; l < n; ++l) {
      T* __restrict other = a + l * lead;
      const T factor = other[j];
      for (int64_t i = j + 1; i < m; ++i) other[i] -= factor * column[i];
    }
  }
  return info;
}

template <class T>
T dot(int64_t count, const T* x, const T* y) {
  typedef typename Simd<T>::V V;
  typedef T U __attribute__((vector_size(MERCER_TILE_BYTES), aligned(sizeof(T))));
  constexpr int kLanes = Simd<T>::kLanes;
  V s0 = V{}, s1 = V{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    s0 += *reinterpret_cast<const U*>(x + i) * *reinterpret_cast<const U*>(y + i);
    s1 += *reinterpret_cast<const U*>(x + i + kLanes) * *reinterpret_cast<const U*>(y + i + kLanes);
  }
  s0 += s1;
  T sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += s0[l];
  for (; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

// Householder reflections; t as in R. Schreiber and C. Van Loan, A storage-efficient WY representation (1989).
template <class T>
void qr(int64_t m, int64_t n, T* a, int64_t lead, T* v, int64_t vLead, T* t, int64_t tLead) {
  for (int64_t j = 0; j < n; ++j) {
    T* __restrict column = a + j * lead;
    T* __restrict u = v + j * vLead;
    const int64_t below = m - j;
    const T size = magnitude(column[j + largest(column + j, below)]);
    for (int64_t i = 0; i < j; ++i) u[i] = 0;
    u[j] = 1;
    T tau = 0;
    // Nothing to reflect: the column below the diagonal is 0.
    if (magnitude(column[j + 1 < m ? j + 1 + largest(column + j + 1, below - 1) : j]) == 0 || below == 1) {
      for (int64_t i = j + 1; i < m; ++i) u[i] = 0;
    } else {
      for (int64_t i = j; i < m; ++i) u[i] = column[i] / size;  // neither overflows nor vanishes when squared
      const T head = u[j];
      const T norm = root(dot(below, u + j, u + j));
      const T beta = head > 0 ? -norm : norm;
      tau = (beta - head) / beta;
      const T divisor = head - beta;
      for (int64_t i = j + 1; i < m; ++i) u[i] /= divisor;
      u[j] = 1;
      column[j] = beta * size;
      for (int64_t l = j + 1; l < n; ++l) {
        T* __restrict other = a + l * lead;
        const T factor = tau * dot(below, u + j, other + j);
        for (int64_t i = j; i < m; ++i) other[i] -= factor * u[i];
      }
    }
    // t[0:j, j] = -tau t[0:j, 0:j] v[:, 0:j]^T v[:, j]
    T* last = t + j * tLead;
    for (int64_t i = 0; i < j; ++i) last[i] = -tau * dot(below, v + i * vLead + j, u + j);
    for (int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (int64_t l = i; l < j; ++l) sum += t[i + l * tLead] * last[l];
      last[i] = sum;
    }
    last[j] = tau;
    for (int64_t i = j + 1; i < n; ++i) last[i] = 0;
  }
}

template <class T>
constexpr TileKernels<T> kernelsOf() {
  return {multiply<T>, (kBlockRows + kBlockColumns + 16) * kBlockSteps * sizeof(T),
          solve<T>,    kSolveOrder,
          cholesky<T>, kCholeskyOrder,
          lu<T>,       qr<T>,
          kPanelColumns};
}

}  // namespace

#define MERCER_CONCAT2(a, b) a##b
#define MERCER_CONCAT(a, b) MERCER_CONCAT2(a, b)
extern const TileLevel MERCER_CONCAT(kTiles_, MERCER_TILE_LEVEL);
const TileLevel MERCER_CONCAT(kTiles_, MERCER_TILE_LEVEL) = {MERCER_TILE_NAME, kernelsOf<float>(),
                                                             kernelsOf<double>()};

}  // namespace mercer::cpu
