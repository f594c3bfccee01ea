// Rows before a pairwise kernel, scaled by feature and normalised; the way back; the diagonal behind it.

#include "arithmetic.h"

// Rows of one task.
constexpr int64_t kTaskRows = 64;
// Sums of squares from here to there have lost nothing that counts.
constexpr double kLeastSquares = 1e-280, kMostSquares = 1e300;

// The rows of one task.
template <class T, bool kColumns, bool kScaled>
struct PreparedRows {
  const RowsArgs& g;
  int64_t layer, start, rows;

  double value(int64_t r, int64_t c) const {
    const T* const x = (const T*)g.x + layer * g.batchStrideX;
    const double v = (double)(kColumns ? x[c * g.ldx + start + r] : x[(start + r) * g.ldx + c]);
    return kScaled ? v * scale(c) : v;
  }

  double scale(int64_t c) const {
    const T* const scales = (const T*)g.scaleAt;
    return scales == nullptr ? g.scaleValue : (double)scales[layer * g.scaleBatchStride + c * g.scaleStride];
  }

  void squares(double* sums) const {
    if (kColumns) {
      for (int64_t c = 0; c < g.k; c++)
        for (int64_t r = 0; r < rows; r++) {
          const double v = value(r, c);
          sums[r] += v * v;
        }
      return;
    }
    for (int64_t r = 0; r < rows; r++) {
      double part[8] = {};
      int64_t c = 0;
      for (; c + 8 <= g.k; c += 8)
        for (int64_t i = 0; i < 8; i++) {
          const double v = value(r, c + i);
          part[i] += v * v;
        }
      for (; c < g.k; c++) {
        const double v = value(r, c);
        part[0] += v * v;
      }
      sums[r] = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
  }

  // Squares may have left the range of numbers: again, divided by the largest.
  void careful(int64_t r, double* unit, double* root) const {
    const double sum = root[r];
    double largest = 0, scaled = 0;
    for (int64_t c = 0; c < g.k; c++) {
      const double v = __builtin_fabs(value(r, c));
      largest = v > largest ? v : largest;
    }
    if (sum != sum || largest == 0 || largest == __builtin_inf()) {
      root[r] = sum != sum ? sum : largest;
      return;
    }
    for (int64_t c = 0; c < g.k; c++) {
      const double v = value(r, c) / largest;
      scaled += v * v;
    }
    unit[r] = largest;
    root[r] = __builtin_sqrt(scaled);
  }

  // The norms as unit * root.
  void norms(double* unit, double* root) const {
    for (int64_t r = 0; r < rows; r++) unit[r] = 1, root[r] = 0;
    squares(root);
    for (int64_t r = 0; r < rows; r++) {
      const bool isSafe = root[r] >= kLeastSquares && root[r] <= kMostSquares;
      if (sizeof(T) == sizeof(float) || isSafe)
        root[r] = __builtin_sqrt(root[r]);
      else
        careful(r, unit, root);
    }
  }

  void run() const {
    double unit[kTaskRows], root[kTaskRows];
    if (g.normalise != 0 || g.norms != nullptr) norms(unit, root);
    if (g.norms != nullptr)
      for (int64_t r = 0; r < rows; r++) ((T*)g.norms)[layer * g.m + start + r] = (T)(unit[r] * root[r]);
    for (int64_t r = 0; r < rows; r++) {
      T* const to = (T*)g.out + layer * g.batchStrideOut + (start + r) * g.ldo;
      if (g.normalise == 0) {
        for (int64_t c = 0; c < g.k; c++) to[c] = (T)value(r, c);
        continue;
      }
      // a row of zeros stays as it is
      const double divisor = root[r] == 0 ? 1 : root[r], inverse = 1 / divisor;
      if (sizeof(T) == sizeof(float))
        for (int64_t c = 0; c < g.k; c++) to[c] = (T)(value(r, c) * inverse);
      else
        for (int64_t c = 0; c < g.k; c++) to[c] = (T)(value(r, c) / unit[r] / divisor);
    }
  }
};

template <class T, bool kColumns, bool kScaled>
static void prepareRowsOf(const RowsArgs& g, int64_t begin, int64_t end) {
  const int64_t blocks = (g.m + kTaskRows - 1) / kTaskRows;
  for (int64_t task = begin; task < end; task++) {
    const int64_t start = task % blocks * kTaskRows;
    PreparedRows<T, kColumns, kScaled>{g, task / blocks, start, least(kTaskRows, g.m - start)}.run();
  }
}

template <class T>
static void prepareRowsIn(const RowsArgs& g, int64_t begin, int64_t end) {
  if (g.columns != 0)
    g.scaled != 0 ? prepareRowsOf<T, true, true>(g, begin, end) : prepareRowsOf<T, true, false>(g, begin, end);
  else
    g.scaled != 0 ? prepareRowsOf<T, false, true>(g, begin, end) : prepareRowsOf<T, false, false>(g, begin, end);
}

static void prepareRows(const void* args, int64_t begin, int64_t end, void*) {
  const RowsArgs& g = *(const RowsArgs*)args;
  g.wide != 0 ? prepareRowsIn<double>(g, begin, end) : prepareRowsIn<float>(g, begin, end);
}

// One row of the way back: with z = x f and y = z / |z|, dz = (dy - z (z . dy) / |z|^2) / |z|. Rows are scaled by their largest |z|
// first, so that squares neither overflow nor vanish.
template <class T>
struct RowGradient {
  const RowsGradientArgs& g;
  const T *row, *factors, *upstream;
  T* to;

  double f(int64_t t) const { return factors == nullptr ? g.scaleValue : (double)factors[t * g.scaleStride]; }
  double x(int64_t t) const { return (double)row[t * g.stepStrideX]; }
  double z(int64_t t) const { return x(t) * f(t); }
  // What dz contributes to: the row itself, or its factor.
  double other(int64_t t) const { return g.ofScale != 0 ? x(t) : f(t); }

  void scaled() const {
    for (int64_t t = 0; t < g.k; t++) to[t] = (T)((double)upstream[t] * other(t));
  }

  void normalised() const {
    double most = 0;
    for (int64_t t = 0; t < g.k; t++) {
      const double size = z(t) < 0 ? -z(t) : z(t);
      most = size > most || size != size ? size : most;
    }
    const double unit = most > 0 ? 1 / most : 0;
    double squares = 0, product = 0;
    for (int64_t t = 0; t < g.k; t++) {
      squares += (z(t) * unit) * (z(t) * unit);
      product += (z(t) * unit) * (double)upstream[t];
    }
    const double inverse = squares > 0 ? 1 / squares : 0;
    const double length = squares > 0 ? unit / __builtin_sqrt(squares) : 0;
    for (int64_t t = 0; t < g.k; t++) {
      const double dz = ((double)upstream[t] - (z(t) * unit) * (product * inverse)) * length;
      to[t] = (T)(dz * other(t));
    }
  }
};

template <class T>
static void rowsGradientOf(const RowsGradientArgs& g, int64_t begin, int64_t end) {
  const int64_t last = least(end * kTaskRows, g.m * g.batch);
  for (int64_t index = begin * kTaskRows; index < last; index++) {
    const int64_t layer = index / g.m, r = index - layer * g.m;
    const T* const scale = (const T*)g.scaleAt;
    const RowGradient<T> one = {g, (const T*)g.x + layer * g.batchStrideX + r * g.rowStrideX,
                                scale == nullptr ? scale : scale + layer * g.scaleBatchStride,
                                (const T*)g.dy + index * g.k, (T*)g.out + index * g.k};
    g.normalise != 0 ? one.normalised() : one.scaled();
  }
}

static void rowsGradient(const void* args, int64_t begin, int64_t end, void*) {
  const RowsGradientArgs& g = *(const RowsGradientArgs*)args;
  g.wide != 0 ? rowsGradientOf<double>(g, begin, end) : rowsGradientOf<float>(g, begin, end);
}

// Diagonal elements of one task.
constexpr int64_t kTaskDiagonal = 4096;

// Elements with n = m + offset.
template <class T>
static void diagonalOf(const DiagonalArgs& g, int64_t begin, int64_t end) {
  const int64_t row = g.offset < 0 ? -g.offset : 0, column = g.offset > 0 ? g.offset : 0;
  const int64_t count = least(g.m - row, g.n - column);
  if (count <= 0) return;
  const int64_t rowStride = g.columns != 0 ? 1 : g.ldo, columnStride = g.columns != 0 ? g.ldo : 1;
  const int64_t last = least(end * kTaskDiagonal, count * g.batch);
  for (int64_t e = begin * kTaskDiagonal; e < last; e++) {
    const int64_t layer = e / count, i = e - layer * count;
    const double value = g.at == nullptr ? g.value : (double)((const T*)g.at)[layer * g.stride];
    T& element = ((T*)g.out)[layer * g.batchStrideOut + (row + i) * rowStride + (column + i) * columnStride];
    element = (T)((g.add != 0 ? (double)element : 1) + value);
  }
}

static void diagonal(const void* args, int64_t begin, int64_t end, void*) {
  const DiagonalArgs& g = *(const DiagonalArgs*)args;
  g.wide != 0 ? diagonalOf<double>(g, begin, end) : diagonalOf<float>(g, begin, end);
}
