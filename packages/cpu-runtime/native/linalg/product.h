// Products: matrix times matrix, and Kronecker.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct GemmArgs {
  Batch batch;
  Matrix a, b, c;
  double alpha, beta;
};

// c = alpha a b + beta c. On the operands where they lie; a c that is written to twice, or not at all, by its strides is no tensor.
template <class T>
struct Gemm {
  using Args = GemmArgs;

  Gemm(const Args& args, Arena&) : args(args) {}

  void operator()(const Team& team, int64_t index) {
    const auto a = viewOf<T>(args.batch, args.a, index);
    const auto b = viewOf<T>(args.batch, args.b, index);
    const auto c = viewOf<T>(args.batch, args.c, index);
    const T beta = static_cast<T>(args.beta);
    if (args.alpha != 0) return multiply(team, static_cast<T>(args.alpha), a, b, beta, c);
    forEach(c.rows, c.columns, [&](int64_t i, int64_t j) {  // factors are not read, which may hold NaN
      T& element = c.at(i, j);
      element = beta == 0 ? 0 : beta * element;
    });
  }

  const Args& args;
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

  void operator()(const Team&, int64_t index) {
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
