// Powers of symmetric positive semidefinite matrices.
#pragma once

#include "eigh.h"

namespace mercer::cpu {

// Infos of powers beside kNotFinite: k > 0 where k eigenvalues have no such power, and this where an iteration did not end.
constexpr int32_t kNoConvergence = -2;

struct PowerArgs {
  Batch batch;
  Matrix a, result;
  alignas(8) void* errors;
  alignas(8) int32_t* infos;
  int64_t upper;
  double power, ridge;  // what is raised is a + ridge * identity
  double epsilon;       // of the tensors' precision
};

// V diag(w^power) V^T. The error is the bound n eps (1 + |a| max|f'| / max|f|) over the eigenvalues.
template <class T>
struct EigenPower {
  using Args = PowerArgs;

  EigenPower(const Args& args, Arena& arena) : args(args), eigen(args.a.rows, arena) {
    scaled = arena.take<T>(eigen.lead * eigen.n);
    product = arena.take<T>(eigen.lead * eigen.n);
  }

  // Eigenvalues to the power, in their place; how many have none.
  int32_t raise(double& error) {
    const Int n = eigen.n;
    double norm = 0, steepest = 0, largest = 0;
    for (Int i = 0; i < n; ++i) norm = std::max(norm, std::abs(double(eigen.values[i])));
    const double rounding = norm * args.epsilon * static_cast<double>(n);
    int32_t without = 0;
    for (Int i = 0; i < n; ++i) {
      const double plain = eigen.values[i];
      const double value = std::max(plain, 0.0) + args.ridge;
      if (plain < -rounding || (value == 0 && args.power < 0)) ++without;
      const double raised = args.power == 0 ? 1 : std::pow(value, args.power);
      largest = std::max(largest, raised);
      if (value > 0) steepest = std::max(steepest, std::abs(args.power) * raised / value);
      eigen.values[i] = static_cast<T>(raised);
    }
    // The second term is for the product and for vectors that are orthogonal to rounding.
    error = largest == 0 ? 0 : rounding * steepest / largest + args.epsilon * static_cast<double>(n);
    return without;
  }

  void operator()(const Team& team, int64_t index) {
    const Int n = eigen.n, lead = eigen.lead;
    int32_t info = eigen(viewOf<T>(args.batch, args.a, index), args.upper != 0);
    if (info > 0) info = kNoConvergence;
    double error = std::numeric_limits<double>::quiet_NaN();
    if (info == 0) info = raise(error);
    const auto result = viewOf<T>(args.batch, args.result, index);
    if (info == 0) {
      for (Int j = 0; j < n; ++j)
        for (Int i = 0; i < n; ++i)
          scaled[i + j * lead] = eigen.vectors[i + j * lead] * eigen.values[j];
      multiply(team, T(1), byColumns(scaled, n, n, lead), transposed(byColumns(eigen.vectors, n, n, lead)), T(0),
               byColumns(product, n, n, lead));
      unpack(product, lead, result);
    } else {
      fillNaN(result);
      error = std::numeric_limits<double>::quiet_NaN();
    }
    static_cast<T*>(args.errors)[index] = static_cast<T>(error);
    args.infos[index] = info;
  }

  const Args& args;
  SymmetricEigen<T> eigen;
  T *scaled, *product;
};

struct InverseRootArgs {
  Batch batch;
  Matrix a, result;
  alignas(8) void* errors;
  alignas(8) int32_t* infos;
  int64_t upper, root;
  double ridge;
};

// (a + ridge)^(-1/root) by the coupled Newton iteration (C.-H. Guo and N. J. Higham, A Schur-Newton method for the matrix pth
// root and its inverse, 2006): products only. The error is max|M - I| where it ended, M being x^root a.
template <class T>
struct InverseRoot {
  using Args = InverseRootArgs;
  static constexpr int kMostSteps = 100;

  InverseRoot(const Args& args, Arena& arena) : args(args), n(args.a.rows), lead(leadOf(n)) {
    for (T** piece : {&m, &x, &t, &spare, &best}) *piece = arena.take<T>(lead * n);
  }

  // Scaled so that the iteration converges for every positive definite matrix.
  bool start(const View<T>& from) {
    const bool upper = args.upper != 0;
    if (!pack(from, m, lead, triangle(upper))) return false;
    double square = 0;
    for (Int j = 0; j < n; ++j)
      for (Int i = 0; i < n; ++i) {
        if (!isIn(triangle(upper), i, j)) m[i + j * lead] = m[j + i * lead];
        if (i == j) m[i + j * lead] += static_cast<T>(args.ridge);
      }
    forEach(n, n, [&](int64_t i, int64_t j) {
      square += static_cast<double>(m[i + j * lead]) * m[i + j * lead];
    });
    const double root = static_cast<double>(args.root);
    const double z = square > 0 ? (1 + root) / (2 * std::sqrt(square)) : 1;
    const T first = static_cast<T>(std::pow(z, 1 / root));
    forEach(n, n, [&](int64_t i, int64_t j) {
      m[i + j * lead] *= static_cast<T>(z);
      x[i + j * lead] = i == j ? first : T(0);
    });
    return true;
  }

  double distance() const {
    double worst = 0;
    for (Int j = 0; j < n; ++j)
      for (Int i = 0; i < n; ++i) {
        const double off = std::abs(double(m[i + j * lead]) - (i == j ? 1 : 0));
        if (!(off <= worst)) worst = off;
      }
    return worst;
  }

  // c = a b
  void times(const Team& team, T* a, T* b, T* c) const {
    multiply(team, T(1), byColumns(a, n, n, lead), byColumns(b, n, n, lead), T(0), byColumns(c, n, n, lead));
  }

  // x <- x t, m <- t^root m with t = ((root + 1) I - m) / root.
  void step(const Team& team) {
    const T root = static_cast<T>(args.root);
    forEach(n, n, [&](int64_t i, int64_t j) {
      t[i + j * lead] = ((i == j ? root + 1 : T(0)) - m[i + j * lead]) / root;
    });
    times(team, x, t, spare);
    std::swap(x, spare);
    for (int64_t i = 0; i < args.root; ++i) {
      times(team, t, m, spare);
      std::swap(m, spare);
    }
  }

  // Goes on while it gets better; rounding ends that.
  double iterate(const Team& team) {
    double least = std::numeric_limits<double>::infinity();
    for (int steps = 0; steps < kMostSteps; ++steps) {
      const double off = distance();
      const bool better = off < least;
      if (better) {
        least = off;
        std::copy(x, x + lead * n, best);
      }
      // The first steps may lead away from the identity; near it every one must pay.
      if (!std::isfinite(off) || off == 0 || (!better && least < 0.5)) break;
      step(team);
    }
    return least;
  }

  void operator()(const Team& team, int64_t index) {
    const bool finite = start(viewOf<T>(args.batch, args.a, index));
    const double error =
        finite ? iterate(team) : std::numeric_limits<double>::quiet_NaN();
    const auto result = viewOf<T>(args.batch, args.result, index);
    const int32_t info = !finite ? kNotFinite : error < kAccepted ? 0 : kNoConvergence;
    if (info == 0)
      unpack(best, lead, result);
    else
      fillNaN(result);
    static_cast<T*>(args.errors)[index] = static_cast<T>(error);
    args.infos[index] = info;
  }

  static constexpr double kAccepted = 0.1;

  const Args& args;
  const Int n, lead;
  T *m, *x, *t, *spare, *best;
};

}  // namespace mercer::cpu
