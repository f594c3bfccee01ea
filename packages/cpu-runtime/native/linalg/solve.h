// Linear systems with one right-hand side in each column of b.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct SolveArgs {
  Batch batch;
  Matrix a, b, x, factor;
  int32_t* infos;
  int64_t upper;
};

// x of a x = b for a symmetric positive definite a, of which one triangle is read. LAPACK potrf and potrs.
template <class T>
struct SolveCholesky {
  using Args = SolveArgs;

  SolveCholesky(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    factor = arena.take<T>(lead * n);
    x = arena.take<T>(lead * columns);
  }

  int64_t order() const { return n; }

  void operator()(int64_t index) {
    const auto& lapack = Lapack::get()->functions<T>();
    const char uplo = args.upper != 0 ? 'U' : 'L';
    const Part part = triangle(args.upper != 0);
    int32_t info = kNotFinite;
    if (pack(viewOf<T>(args.batch, args.a, index), factor, lead, part)) {
      Written written;
      lapack.potrf(&uplo, &n, factor, &lead, written, 1);
      info = static_cast<int32_t>(written.value());
    }
    const auto result = viewOf<T>(args.batch, args.x, index);
    if (info == 0) {
      pack(viewOf<T>(args.batch, args.b, index), x, lead);
      Written written;
      lapack.potrs(&uplo, &n, &columns, factor, &lead, x, &lead, written, 1);
      unpack(x, lead, result);
    } else {
      fillNaN(result);
    }
    if (args.factor.data != nullptr) {
      const auto kept = viewOf<T>(args.batch, args.factor, index);
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

// x of a x = b for any square a. LAPACK getrf and getrs; `factor` gets L below the diagonal and U, rows exchanged.
template <class T>
struct SolveLU {
  using Args = SolveArgs;

  SolveLU(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    factor = arena.take<T>(lead * n);
    x = arena.take<T>(lead * columns);
    pivots = arena.take<Int>(n);
  }

  int64_t order() const { return n; }

  void operator()(int64_t index) {
    const auto& lapack = Lapack::get()->functions<T>();
    int32_t info = kNotFinite;
    if (pack(viewOf<T>(args.batch, args.a, index), factor, lead)) {
      Written written;
      lapack.getrf(&n, &n, factor, &lead, pivots, written);
      info = static_cast<int32_t>(written.value());
    }
    const auto result = viewOf<T>(args.batch, args.x, index);
    if (info == 0) {
      pack(viewOf<T>(args.batch, args.b, index), x, lead);
      const char plain = 'N';
      Written written;
      lapack.getrs(&plain, &n, &columns, factor, &lead, pivots, x, &lead, written, 1);
      unpack(x, lead, result);
    } else {
      fillNaN(result);
    }
    if (args.factor.data != nullptr) {
      const auto kept = viewOf<T>(args.batch, args.factor, index);
      if (info == 0)
        unpack(factor, lead, kept);
      else
        fillNaN(kept);
    }
    args.infos[index] = info;
  }

  const Args& args;
  const Int n, lead, columns;
  T *factor, *x;
  Int* pivots;
};

struct TriangularSolveArgs {
  Batch batch;
  Matrix a, b, x;
  int32_t* infos;
  int64_t upper, transpose, unitDiagonal;
};

// x of a x = b or a^T x = b for a triangular a. LAPACK trtrs.
template <class T>
struct TriangularSolve {
  using Args = TriangularSolveArgs;

  TriangularSolve(const Args& args, Arena& arena)
      : args(args), n(args.a.rows), lead(leadOf(n)), columns(args.b.columns) {
    a = arena.take<T>(lead * n);
    x = arena.take<T>(lead * columns);
  }

  int64_t order() const { return n; }

  void operator()(int64_t index) {
    const char uplo = args.upper != 0 ? 'U' : 'L';
    const char transpose = args.transpose != 0 ? 'T' : 'N';
    const char diagonal = args.unitDiagonal != 0 ? 'U' : 'N';
    int32_t info = kNotFinite;
    const auto matrix = viewOf<T>(args.batch, args.a, index);
    if (pack(matrix, a, lead, triangle(args.upper != 0))) {
      pack(viewOf<T>(args.batch, args.b, index), x, lead);
      Written written;
      Lapack::get()->functions<T>().trtrs(&uplo, &transpose, &diagonal, &n, &columns, a, &lead, x,
                                          &lead, written, 1, 1, 1);
      info = static_cast<int32_t>(written.value());
    }
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
