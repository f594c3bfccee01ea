// What follows from a factor: inverses, determinants, condition numbers.
#pragma once

#include "routine.h"

namespace mercer::cpu {

// One factorisation of a square matrix: Cholesky of a triangle, or LU.
template <class T>
struct SquareFactor {
  SquareFactor(Int n, Arena& arena) : n(n), lead(leadOf(n)) {
    data = arena.take<T>(lead * n);
    pivots = arena.take<Int>(n);
  }

  int32_t factorize(const View<T>& from, bool cholesky, bool upper) {
    const auto& lapack = Lapack::get()->functions<T>();
    uplo = upper ? 'U' : 'L';
    if (!pack(from, data, lead, cholesky ? triangle(upper) : Part::kAll)) return kNotFinite;
    norm = oneNorm(from, cholesky, upper);
    Written info;
    if (cholesky)
      lapack.potrf(&uplo, &n, data, &lead, info, 1);
    else
      lapack.getrf(&n, &n, data, &lead, pivots, info);
    return static_cast<int32_t>(info.value());
  }

  // The largest sum of magnitudes in a column, of the whole matrix that the triangle stands for.
  T oneNorm(const View<T>& from, bool symmetric, bool upper) const {
    T largest = 0;
    for (Int j = 0; j < n; ++j) {
      T sum = 0;
      for (Int i = 0; i < n; ++i) {
        const bool mirrored = symmetric && (upper ? i > j : i < j);
        sum += std::abs(mirrored ? from.at(j, i) : from.at(i, j));
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  const Int n, lead;
  T* data;
  Int* pivots;
  char uplo = 'L';
  T norm = 0;
};

struct InverseArgs {
  Batch batch;
  Matrix a, inverse;
  int32_t* infos;
  int64_t cholesky, upper;
};

// LAPACK getrf and getri, or potrf and potri for a symmetric positive definite matrix.
template <class T>
struct Inverse {
  using Args = InverseArgs;

  Inverse(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {
    const Int ask = -1;
    T size = 0;
    Written info;
    Lapack::get()->functions<T>().getri(&factor.n, factor.data, &factor.lead, factor.pivots, &size,
                                        &ask, info);
    workSize = queried(size);
    work = arena.take<T>(workSize);
  }

  int64_t order() const { return factor.n; }

  int32_t invert(int64_t index) {
    const auto& lapack = Lapack::get()->functions<T>();
    const bool cholesky = args.cholesky != 0;
    const auto from = viewOf<T>(args.batch, args.a, index);
    const int32_t failed = factor.factorize(from, cholesky, args.upper != 0);
    if (failed != 0) return failed;
    Written info;
    if (cholesky)
      lapack.potri(&factor.uplo, &factor.n, factor.data, &factor.lead, info, 1);
    else
      lapack.getri(&factor.n, factor.data, &factor.lead, factor.pivots, work, &workSize, info);
    if (cholesky) mirror();
    return static_cast<int32_t>(info.value());
  }

  void mirror() {
    const bool upper = args.upper != 0;
    T* data = factor.data;
    const Int lead = factor.lead;
    for (Int j = 0; j < factor.n; ++j)
      for (Int i = j + 1; i < factor.n; ++i)
        (upper ? data[i + j * lead] : data[j + i * lead]) =
            upper ? data[j + i * lead] : data[i + j * lead];
  }

  void operator()(int64_t index) {
    const int32_t info = invert(index);
    const auto result = viewOf<T>(args.batch, args.inverse, index);
    if (info == 0)
      unpack(factor.data, factor.lead, result);
    else
      fillNaN(result);
    args.infos[index] = info;
  }

  const Args& args;
  SquareFactor<T> factor;
  Int workSize;
  T* work;
};

struct LogdetArgs {
  Batch batch;
  Matrix a;
  void *signs, *logs;
  int32_t* infos;
  int64_t cholesky, upper;
};

// Sign and logarithm of the magnitude of the determinant, summed in float64. A singular matrix has 0 and -infinity.
template <class T>
struct Logdet {
  using Args = LogdetArgs;

  Logdet(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {}

  int64_t order() const { return factor.n; }

  void operator()(int64_t index) {
    const bool cholesky = args.cholesky != 0;
    const int32_t info =
        factor.factorize(viewOf<T>(args.batch, args.a, index), cholesky, args.upper != 0);
    double sum = 0, sign = 1;
    for (Int i = 0; i < factor.n; ++i) {
      const double value = factor.data[i + i * factor.lead];
      sum += std::log(std::abs(value)) * (cholesky ? 2 : 1);
      if (!cholesky && (value < 0) != exchanged(i)) sign = -sign;
    }
    const bool singular = info > 0 && !cholesky;
    const double none = std::numeric_limits<double>::quiet_NaN();
    const double log = singular ? -std::numeric_limits<double>::infinity() : info == 0 ? sum : none;
    static_cast<T*>(args.logs)[index] = static_cast<T>(log);
    static_cast<T*>(args.signs)[index] = static_cast<T>(singular ? 0 : info == 0 ? sign : none);
    args.infos[index] = info;
  }

  // Was row i exchanged with another? Pivots are as wide as the library's integers.
  bool exchanged(Int i) const {
    const bool wide = Lapack::get()->integerBits() == 64;
    const int64_t pivot =
        wide ? factor.pivots[i] : reinterpret_cast<const int32_t*>(factor.pivots)[i];
    return pivot != i + 1;
  }

  const Args& args;
  SquareFactor<T> factor;
};

struct ConditionArgs {
  Batch batch;
  Matrix a;
  void* conditions;
  int32_t* infos;
  int64_t cholesky, upper;
};

// An estimate of |a|_1 |a^-1|_1 from a factor. LAPACK gecon or pocon. A singular matrix has infinity.
template <class T>
struct Condition {
  using Args = ConditionArgs;

  Condition(const Args& args, Arena& arena) : args(args), factor(args.a.rows, arena) {
    work = arena.take<T>(4 * factor.lead);
    integerWork = arena.take<Int>(factor.lead);
  }

  int64_t order() const { return factor.n; }

  T estimate(int64_t index, int32_t& failed) {
    const auto& lapack = Lapack::get()->functions<T>();
    const bool cholesky = args.cholesky != 0;
    failed = factor.factorize(viewOf<T>(args.batch, args.a, index), cholesky, args.upper != 0);
    if (failed > 0 && !cholesky) return std::numeric_limits<T>::infinity();
    if (failed != 0) return std::numeric_limits<T>::quiet_NaN();
    if (factor.n == 0) return 0;
    const char one = '1';
    T reciprocal = 0;
    Written info;
    if (cholesky)
      lapack.pocon(&factor.uplo, &factor.n, factor.data, &factor.lead, &factor.norm, &reciprocal,
                   work, integerWork, info, 1);
    else
      lapack.gecon(&one, &factor.n, factor.data, &factor.lead, &factor.norm, &reciprocal, work,
                   integerWork, info, 1);
    return 1 / reciprocal;
  }

  void operator()(int64_t index) {
    int32_t info = 0;
    static_cast<T*>(args.conditions)[index] = estimate(index, info);
    args.infos[index] = info;
  }

  const Args& args;
  SquareFactor<T> factor;
  T* work;
  Int* integerWork;
};

}  // namespace mercer::cpu
