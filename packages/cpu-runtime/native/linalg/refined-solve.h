// Mixed precision: factors in float32, residuals and solutions in float64.
#pragma once

#include <cmath>

#include "routine.h"

namespace mercer::cpu {

struct RefinedSolveArgs {
  Batch batch;
  Matrix a, b, x;
  alignas(8) int32_t* infos;
  int64_t upper, steps;
};

// x of a x = b by a float32 factor and `steps` corrections, each solving for the float64 residual of the one before it.
// Iterative refinement as in J. H. Wilkinson, Rounding Errors in Algebraic Processes (1963).
template <class T, bool kDefinite>
struct RefinedSolve {
  using Args = RefinedSolveArgs;

  RefinedSolve(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    factor = arena.take<float>(lead * n);
    correction = arena.take<float>(lead * columns);
    pivots = arena.take<int64_t>(n);
    exponents = arena.take<int>(columns);
    a = arena.take<double>(lead * n);
    residual = arena.take<double>(lead * columns);
    x = arena.take<double>(lead * columns);
    given = arena.take<T>(lead * std::max(n, columns));
  }

  int32_t factorize(const Team& team, int64_t index) {
    const bool upper = kDefinite && args.upper != 0;
    const Part part = kDefinite ? Part::kLower : Part::kAll;
    if (!pack(byLower(viewOf<T>(args.batch, args.a, index), upper), given, lead, part)) return kNotFinite;
    float probe = 0;  // becomes NaN with an element that is beyond float32
    forEach(n, n, [&](int64_t i, int64_t j) {
      a[i + j * lead] = isIn(part, i, j) ? given[i + j * lead] : given[j + i * lead];
      factor[i + j * lead] = static_cast<float>(a[i + j * lead]);
      probe += factor[i + j * lead] * 0.0f;
    });
    if (probe != 0) return kNotFinite;
    const auto view = byColumns(factor, n, n, lead);
    return static_cast<int32_t>(kDefinite ? factorCholesky(team, view) : factorLU(team, view, pivots));
  }

  // x += factor^-1 residual; a power of two keeps each column of it within the range of float32
  void correct(const Team& team) {
    for (Int j = 0; j < columns; ++j) {
      const double* column = residual + j * lead;
      double largest = 0;
      for (Int i = 0; i < n; ++i) largest = std::max(largest, std::abs(column[i]));
      exponents[j] = 0;
      if (std::isfinite(largest)) std::frexp(largest, &exponents[j]);
      for (Int i = 0; i < n; ++i)
        correction[i + j * lead] = static_cast<float>(std::ldexp(column[i], -exponents[j]));
    }
    const auto view = byColumns(factor, n, n, lead), sides = byColumns(correction, n, columns, lead);
    if constexpr (kDefinite)
      solveByCholesky(team, view, sides);
    else
      solveByLU(team, view, pivots, sides);
    forEach(n, columns, [&](int64_t i, int64_t j) {
      x[i + j * lead] += std::ldexp(static_cast<double>(correction[i + j * lead]), exponents[j]);
    });
  }

  void solve(const Team& team, const View<T>& b) {
    pack(b, given, lead);
    std::fill(x, x + lead * columns, 0.0);
    std::copy(given, given + lead * columns, residual);
    correct(team);
    for (int64_t step = 0; step < args.steps; ++step) {
      std::copy(given, given + lead * columns, residual);
      multiply(team, -1.0, byColumns(a, n, n, lead), byColumns(x, n, columns, lead), 1.0,
               byColumns(residual, n, columns, lead));
      correct(team);
    }
  }

  void operator()(const Team& team, int64_t index) {
    const int32_t info = factorize(team, index);
    const auto result = viewOf<T>(args.batch, args.x, index);
    if (info == 0) {
      solve(team, viewOf<T>(args.batch, args.b, index));
      forEach(n, columns, [&](int64_t i, int64_t j) {
        result.at(i, j) = static_cast<T>(x[i + j * lead]);
      });
    } else {
      fillNaN(result);
    }
    args.infos[index] = info;
  }

  const Args& args;
  const Int n, lead, columns;
  float *factor, *correction;
  int64_t* pivots;
  int* exponents;
  double *a, *residual, *x;
  T* given;
};

template <class T>
using RefinedCholesky = RefinedSolve<T, true>;
template <class T>
using RefinedLU = RefinedSolve<T, false>;

}  // namespace mercer::cpu
