// Linear systems with one right-hand side in each column of b.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct SolveArgs {
  Batch batch;
  Matrix a, b, x, factor;
  alignas(8) int32_t* infos;
  int64_t upper;
};

// Solutions of a factored system, and the factor where it is wanted; NaN without one.
template <class T>
struct Solve {
  using Args = SolveArgs;

  Solve(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    factor = arena.take<T>(lead * n);
    x = arena.take<T>(lead * columns);
  }

  View<T> factored() const { return byColumns(factor, n, n, lead); }
  View<T> sides() const { return byColumns(x, n, columns, lead); }

  void give(int32_t info, Part part, bool transpose, int64_t index) const {
    const auto result = viewOf<T>(args.batch, args.x, index);
    if (info == 0)
      unpack(x, lead, result);
    else
      fillNaN(result);
    if (args.factor.data != nullptr) {
      const auto kept = byLower(viewOf<T>(args.batch, args.factor, index), transpose);
      if (info == 0)
        unpack(factor, lead, kept, part);
      else
        fillNaN(kept);
    }
    args.infos[index] = info;
  }

  const Args& args;
  const Int n, lead, columns;
  T *factor, *x;
};

// x of a x = b for a symmetric positive definite a, of which one triangle is read.
template <class T>
struct SolveCholesky : Solve<T> {
  using Solve<T>::Solve;

  void operator()(const Team& team, int64_t index) {
    const auto& args = this->args;
    const bool upper = args.upper != 0;
    int32_t info = kNotFinite;
    if (pack(byLower(viewOf<T>(args.batch, args.a, index), upper), this->factor, this->lead, Part::kLower))
      info = static_cast<int32_t>(factorCholesky(team, this->factored()));
    if (info == 0) {
      pack(viewOf<T>(args.batch, args.b, index), this->x, this->lead);
      solveByCholesky(team, this->factored(), this->sides());
    }
    this->give(info, Part::kLower, upper, index);
  }
};

// x of a x = b for any square a; `factor` gets L below the diagonal and U, rows exchanged.
template <class T>
struct SolveLU : Solve<T> {
  SolveLU(const SolveArgs& args, Arena& arena) : Solve<T>(args, arena) {
    pivots = arena.take<int64_t>(this->n);
  }

  void operator()(const Team& team, int64_t index) {
    const auto& args = this->args;
    int32_t info = kNotFinite;
    if (pack(viewOf<T>(args.batch, args.a, index), this->factor, this->lead))
      info = static_cast<int32_t>(factorLU(team, this->factored(), pivots));
    if (info == 0) {
      pack(viewOf<T>(args.batch, args.b, index), this->x, this->lead);
      solveByLU(team, this->factored(), pivots, this->sides());
    }
    this->give(info, Part::kAll, false, index);
  }

  int64_t* pivots;
};

struct TriangularSolveArgs {
  Batch batch;
  Matrix a, b, x;
  alignas(8) int32_t* infos;
  int64_t upper, transpose, unitDiagonal;
};

// x of a x = b or a^T x = b for a triangular a. Infos: one more than the first place of the diagonal that is 0.
template <class T>
struct TriangularSolve {
  using Args = TriangularSolveArgs;

  TriangularSolve(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    a = arena.take<T>(lead * n);
    x = arena.take<T>(lead * columns);
  }

  int32_t solve(const Team& team, int64_t index) {
    const bool unit = args.unitDiagonal != 0, transpose = args.transpose != 0;
    const bool upper = args.upper != 0, lower = upper == transpose;
    const Part part = unit ? (upper ? Part::kAbove : Part::kBelow) : triangle(upper);
    if (!pack(viewOf<T>(args.batch, args.a, index), a, lead, part)) return kNotFinite;
    pack(viewOf<T>(args.batch, args.b, index), x, lead);
    for (Int i = 0; i < n && !unit; ++i)
      if (a[i + i * lead] == 0) return static_cast<int32_t>(i + 1);
    const auto t = byColumns(a, n, n, lead);
    const Triangle kind = lower ? (unit ? Triangle::kUnitLower : Triangle::kLower)
                                : (unit ? Triangle::kUnitUpper : Triangle::kUpper);
    solveTriangular(team, kind, transpose ? transposed(t) : t, byColumns(x, n, columns, lead));
    return 0;
  }

  void operator()(const Team& team, int64_t index) {
    const int32_t info = solve(team, index);
    const auto result = viewOf<T>(args.batch, args.x, index);
    if (info == 0)
      unpack(x, lead, result);
    else
      fillNaN(result);
    args.infos[index] = info;
  }

  const Args& args;
  const Int n, lead, columns;
  T *a, *x;
};

}  // namespace mercer::cpu
