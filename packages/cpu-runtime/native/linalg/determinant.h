// What follows from a factor: inverses, determinants, condition numbers.
#pragma once

#include <utility>

#include "routine.h"

namespace mercer::cpu {

// One factorisation of a square matrix: Cholesky of a triangle, or LU.
template <class T>
struct SquareFactor {
  SquareFactor(Int n, Arena& arena) : n(n), lead(leadOf(n)) {
    data = arena.take<T>(lead * n);
    pivots = arena.take<int64_t>(n);
  }

  // A triangle becomes the lower one: of the transposed, if it was the upper one.
  int32_t factorize(const Team& team, const View<T>& whole, bool cholesky, bool upper) {
    const auto from = cholesky ? byLower(whole, upper) : whole;
    if (!pack(from, data, lead, cholesky ? Part::kLower : Part::kAll)) return kNotFinite;
    norm = oneNorm(from, cholesky);
    return static_cast<int32_t>(cholesky ? factorCholesky(team, view()) : factorLU(team, view(), pivots));
  }

  View<T> view() const { return byColumns(data, n, n, lead); }

  // The largest sum of magnitudes in a column, of the whole matrix that the triangle stands for.
  T oneNorm(const View<T>& from, bool symmetric) const {
    T largest = 0;
    for (Int j = 0; j < n; ++j) {
      T sum = 0;
      for (Int i = 0; i < n; ++i) {
        const bool mirrored = symmetric && i < j;
        sum += std::abs(mirrored ? from.at(j, i) : from.at(i, j));
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  const Int n, lead;
  T* data;
  int64_t* pivots;
  T norm = 0;
};

struct InverseArgs {
  Batch batch;
  Matrix a, inverse;
  alignas(8) int32_t* infos;
  int64_t cholesky, upper;
};

// U^-1 L^-1 with the columns exchanged back, or L^-T L^-1 for a symmetric positive definite matrix.
template <class T>
struct Inverse {
  using Args = InverseArgs;

  Inverse(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {
    memory = arena.take<T>(factor.lead * factor.n);
  }

  int32_t invert(const Team& team, int64_t index) {
    const bool cholesky = args.cholesky != 0;
    const auto from = viewOf<T>(args.batch, args.a, index);
    const int32_t failed = factor.factorize(team, from, cholesky, args.upper != 0);
    if (failed != 0) return failed;
    if (cholesky)
      invertCholesky(team);
    else
      invertLU(team);
    return 0;
  }

  void invertCholesky(const Team& team) {
    const auto l = factor.view(), inverse = byColumns(memory, factor.n, factor.n, factor.lead);
    unpack(factor.data, factor.lead, l, Part::kLower);
    invertLower(team, l);
    multiplyLowerByItself(team, l, inverse);
    forEach(l.rows, l.rows, [&](int64_t i, int64_t j) {
      if (i < j) inverse.at(i, j) = inverse.at(j, i);
    });
  }

  void invertLU(const Team& team) {
    const auto lu = factor.view(), inverse = byColumns(memory, factor.n, factor.n, factor.lead);
    unpack(factor.data, factor.lead, inverse, Part::kUpper);
    invertLower(team, transposed(inverse));
    solveTriangular(team, Triangle::kUnitUpper, transposed(lu), transposed(inverse));
    for (Int i = factor.n; i-- > 0;) {
      T* const one = &inverse.at(0, i);
      T* const other = &inverse.at(0, factor.pivots[i]);
      if (one != other) std::swap_ranges(one, one + factor.n, other);
    }
  }

  void operator()(const Team& team, int64_t index) {
    const int32_t info = invert(team, index);
    const auto result = viewOf<T>(args.batch, args.inverse, index);
    if (info == 0)
      unpack(memory, factor.lead, result);
    else
      fillNaN(result);
    args.infos[index] = info;
  }

  const Args& args;
  SquareFactor<T> factor;
  T* memory;
};

struct LogdetArgs {
  Batch batch;
  Matrix a;
  alignas(8) void *signs, *logs;
  alignas(8) int32_t* infos;
  int64_t cholesky, upper;
};

// Sign and logarithm of the magnitude of the determinant, summed in float64. A singular matrix has 0 and -infinity.
template <class T>
struct Logdet {
  using Args = LogdetArgs;

  Logdet(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {}

  void operator()(const Team& team, int64_t index) {
    const bool cholesky = args.cholesky != 0;
    const int32_t info =
        factor.factorize(team, viewOf<T>(args.batch, args.a, index), cholesky, args.upper != 0);
    double sum = 0, sign = 1;
    for (Int i = 0; i < factor.n; ++i) {
      const double value = factor.data[i + i * factor.lead];
      sum += std::log(std::abs(value)) * (cholesky ? 2 : 1);
      if (!cholesky && (value < 0) != (factor.pivots[i] != i)) sign = -sign;
    }
    const bool singular = info > 0 && !cholesky;
    const double none = std::numeric_limits<double>::quiet_NaN();
    const double log = singular ? -std::numeric_limits<double>::infinity() : info == 0 ? sum : none;
    static_cast<T*>(args.logs)[index] = static_cast<T>(log);
    static_cast<T*>(args.signs)[index] = static_cast<T>(singular ? 0 : info == 0 ? sign : none);
    args.infos[index] = info;
  }

  const Args& args;
  SquareFactor<T> factor;
};

struct ConditionArgs {
  Batch batch;
  Matrix a;
  alignas(8) void* conditions;
  alignas(8) int32_t* infos;
  int64_t cholesky, upper;
};

// An estimate of |a|_1 |a^-1|_1 from a factor: N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix
// (1988), algorithm SONEST. A singular matrix has infinity.
template <class T>
struct Condition {
  using Args = ConditionArgs;

  Condition(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {
    x = arena.take<T>(factor.lead);
    signs = arena.take<T>(factor.lead);
  }

  // x <- a^-1 x, or by the transposed
  void solve(const Team& team, bool transpose) const {
    const auto f = factor.view(), side = byColumns(x, factor.n, 1, factor.lead);
    if (args.cholesky != 0) return solveByCholesky(team, f, side);
    if (!transpose) return solveByLU(team, f, factor.pivots, side);
    solveTriangular(team, Triangle::kLower, transposed(f), side);
    solveTriangular(team, Triangle::kUnitUpper, transposed(f), side);
    for (Int i = factor.n; i-- > 0;) std::swap(x[i], x[factor.pivots[i]]);
  }

  T sum() const {
    T total = 0;
    for (Int i = 0; i < factor.n; ++i) total += std::abs(x[i]);
    return total;
  }

  Int largest() const {
    Int at = 0;
    for (Int i = 1; i < factor.n; ++i)
      if (std::abs(x[i]) > std::abs(x[at])) at = i;
    return at;
  }

  // x becomes its signs; were they the same before?
  bool takeSigns() {
    bool same = true;
    for (Int i = 0; i < factor.n; ++i) {
      x[i] = x[i] < 0 ? T(-1) : T(1);
      same = same && x[i] == signs[i];
      signs[i] = x[i];
    }
    return same;
  }

  // |a^-1|_1
  T inverseNorm(const Team& team) {
    const Int n = factor.n;
    std::fill(x, x + n, 1 / static_cast<T>(n));
    solve(team, false);
    T norm = sum();
    if (n == 1) return norm;
    std::fill(signs, signs + n, T(0));
    takeSigns();
    solve(team, true);
    Int at = largest();
    constexpr int kMostSteps = 5;
    for (int step = 1; step < kMostSteps; ++step) {
      std::fill(x, x + n, T(0));
      x[at] = 1;
      solve(team, false);
      const T next = sum();
      const bool better = next > norm;
      norm = std::max(norm, next);
      if (takeSigns() || !better) break;
      solve(team, true);
      const Int before = std::exchange(at, largest());
      if (std::abs(x[before]) == std::abs(x[at])) break;
    }
    for (Int i = 0; i < n; ++i)
      x[i] = static_cast<T>((i % 2 == 0 ? 1 : -1) * (1 + static_cast<double>(i) / static_cast<double>(n - 1)));
    solve(team, false);
    return std::max(norm, 2 * sum() / (3 * static_cast<T>(n)));
  }

  T estimate(const Team& team, int64_t index, int32_t& failed) {
    const bool cholesky = args.cholesky != 0;
    failed = factor.factorize(team, viewOf<T>(args.batch, args.a, index), cholesky, args.upper != 0);
    if (failed > 0 && !cholesky) return std::numeric_limits<T>::infinity();
    if (failed != 0) return std::numeric_limits<T>::quiet_NaN();
    if (factor.n == 0) return 0;
    const T condition = factor.norm * inverseNorm(team);
    return std::isfinite(condition) ? condition : std::numeric_limits<T>::infinity();
  }

  void operator()(const Team& team, int64_t index) {
    int32_t info = 0;
    static_cast<T*>(args.conditions)[index] = estimate(team, index, info);
    args.infos[index] = info;
  }

  const Args& args;
  SquareFactor<T> factor;
  T *x, *signs;
};

}  // namespace mercer::cpu
