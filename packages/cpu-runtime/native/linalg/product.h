// Products: matrix times matrix, and Kronecker.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct GemmArgs {
  Batch batch;
  Matrix a, b, c;
  double alpha, beta;
};

// c = alpha a b + beta c. BLAS gemm on the operands where they lie when one of their axes is contiguous, else on copies.
template <class T>
struct Gemm {
  using Args = GemmArgs;

  struct Place {
    bool direct, transposed;  // transposed: the rows are contiguous
    Int lead;
    T* copy;
  };

  Gemm(const Args& args, Arena& arena)
      : args(args), m(args.c.rows), n(args.c.columns), k(args.a.columns),
        placeA(place(args.a, arena)), placeB(place(args.b, arena)), placeC(place(args.c, arena)) {}

  static Place place(const Matrix& matrix, Arena& arena) {
    if (fits(matrix.rowStride, matrix.rows, matrix.columnStride, matrix.columns))
      return {true, false, leadBetween(matrix.rows, matrix.columnStride, matrix.columns), nullptr};
    if (fits(matrix.columnStride, matrix.columns, matrix.rowStride, matrix.rows))
      return {true, true, leadBetween(matrix.columns, matrix.rowStride, matrix.rows), nullptr};
    const Int lead = leadOf(matrix.rows);
    return {false, false, lead, arena.take<T>(lead * matrix.columns)};
  }

  // Are lines of `length` contiguous elements `step` apart, as BLAS wants them?
  static bool fits(int64_t inner, int64_t length, int64_t step, int64_t lines) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    return (inner == 1 || length <= 1) && (lines <= 1 || (step >= length && step <= kMost));
  }

  static Int leadBetween(int64_t length, int64_t step, int64_t lines) {
    return leadOf(lines <= 1 ? length : step);
  }

  int64_t order() const { return std::min({m, n, k}); }

  void operator()(int64_t index) {
    const auto a = viewOf<T>(args.batch, args.a, index);
    const auto b = viewOf<T>(args.batch, args.b, index);
    const auto c = viewOf<T>(args.batch, args.c, index);
    if (args.alpha == 0) return scale(c);
    const T* left = a.data;
    const T* right = b.data;
    T* out = c.data;
    if (!placeA.direct) pack(a, placeA.copy, placeA.lead), left = placeA.copy;
    if (!placeB.direct) pack(b, placeB.copy, placeB.lead), right = placeB.copy;
    if (!placeC.direct) {
      if (args.beta != 0) pack(c, placeC.copy, placeC.lead);
      out = placeC.copy;
    }
    multiply(left, right, out);
    if (!placeC.direct) unpack(placeC.copy, placeC.lead, c);
  }

  // c = beta c. OpenBLAS's kernels for small matrices multiply NaN of the factors by alpha = 0.
  void scale(const View<T>& c) const {
    const T beta = static_cast<T>(args.beta);
    forEach(m, n, [&](int64_t i, int64_t j) {
      T& element = c.at(i, j);
      element = beta == 0 ? 0 : beta * element;
    });
  }

  // A c that lies by rows is the transposed product of the operands exchanged.
  void multiply(const T* left, const T* right, T* out) const {
    const auto& gemm = Lapack::get()->functions<T>().gemm;
    const T alpha = static_cast<T>(args.alpha), beta = static_cast<T>(args.beta);
    const bool flip = placeC.transposed;
    const char leftAs = placeA.transposed != flip ? 'T' : 'N';
    const char rightAs = placeB.transposed != flip ? 'T' : 'N';
    if (flip)
      gemm(&rightAs, &leftAs, &n, &m, &k, &alpha, right, &placeB.lead, left, &placeA.lead, &beta,
           out, &placeC.lead, 1, 1);
    else
      gemm(&leftAs, &rightAs, &m, &n, &k, &alpha, left, &placeA.lead, right, &placeB.lead, &beta,
           out, &placeC.lead, 1, 1);
  }

  const Args& args;
  const Int m, n, k;
  const Place placeA, placeB, placeC;
};

struct KronArgs {
  Batch batch;
  Matrix a, b, c;
};

// c[i r + k, j s + l] = a[i, j] b[k, l] for b of r rows and s columns.
template <class T>
struct Kron {
  using Args = KronArgs;

  Kron(const Args& args, Arena&) : args(args) {}

  int64_t order() const { return 0; }

  void operator()(int64_t index) {
    const auto a = viewOf<T>(args.batch, args.a, index);
    const auto b = viewOf<T>(args.batch, args.b, index);
    const auto c = viewOf<T>(args.batch, args.c, index);
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t k = 0; k < b.rows; ++k)
        for (int64_t j = 0; j < a.columns; ++j) {
          const T factor = a.at(i, j);
          for (int64_t l = 0; l < b.columns; ++l)
            c.at(i * b.rows + k, j * b.columns + l) = factor * b.at(k, l);
        }
  }

  const Args& args;
};

}  // namespace mercer::cpu
