// Cholesky factor, with a growing jitter on request.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct CholeskyArgs {
  Batch batch;
  Matrix a, factor;
  alignas(8) void* jitters;  // one for each element: what was added to its diagonal
  alignas(8) int32_t* infos;
  int64_t upper;
  int64_t attempts;  // with jitter, after the one without
  double jitter;     // of the first such attempt, times the mean of the diagonal's magnitudes
};

// The triangular factor of a symmetric positive definite matrix, of which one triangle is read. Where there is none, jitter is added to the diagonal, ten times as much with every attempt.
template <class T>
struct Cholesky {
  using Args = CholeskyArgs;

  Cholesky(const Args& args, Arena& arena) : args(args), n(args.a.rows), lead(leadOf(n)) {
    factor = arena.take<T>(lead * n);
  }

  int32_t factorize(const Team& team, const View<T>& from, T jitter) {
    if (!pack(from, factor, lead, Part::kLower)) return kNotFinite;
    for (Int i = 0; i < n; ++i) factor[i + i * lead] += jitter;
    return static_cast<int32_t>(factorCholesky(team, byColumns(factor, n, n, lead)));
  }

  void operator()(const Team& team, int64_t index) {
    const bool upper = args.upper != 0;
    const auto from = byLower(viewOf<T>(args.batch, args.a, index), upper);
    T jitter = 0;
    int32_t info = factorize(team, from, jitter);
    double next = args.jitter * meanDiagonal(from);
    for (int64_t attempt = 0; attempt < args.attempts && info > 0; ++attempt, next *= 10) {
      jitter = static_cast<T>(next);
      info = factorize(team, from, jitter);
    }
    const auto result = byLower(viewOf<T>(args.batch, args.factor, index), upper);
    if (info == 0)
      unpack(factor, lead, result, Part::kLower);
    else
      fillNaN(result);
    static_cast<T*>(args.jitters)[index] = jitter;
    args.infos[index] = info;
  }

  // 1 for a matrix of zeros, so that jitter helps it too.
  double meanDiagonal(const View<T>& from) const {
    double sum = 0;
    for (Int i = 0; i < n; ++i) sum += std::abs(static_cast<double>(from.at(i, i)));
    return sum > 0 ? sum / static_cast<double>(n) : 1;
  }

  const Args& args;
  const Int n, lead;
  T* factor;
};

}  // namespace mercer::cpu
