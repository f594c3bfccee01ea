// Eigenvalues and eigenvectors of symmetric matrices, and powers of them.
#pragma once

#include "routine.h"

namespace mercer::cpu {

// LAPACK syevd on memory of its own: a symmetric matrix becomes its eigenvectors.
template <class T>
struct SymmetricEigen {
  SymmetricEigen(Int n, Arena& arena) : n(n), lead(leadOf(n)) {
    vectors = arena.take<T>(lead * n);
    values = arena.take<T>(n);
    const Int ask = -1;
    const char job = 'V', uplo = 'L';
    T size = 0;
    Written integers, info;
    Lapack::get()->functions<T>().syevd(&job, &uplo, &n, vectors, &lead, values, &size, &ask,
                                        integers, &ask, info, 1, 1);
    workSize = queried(size);
    integerSize = integers.value();
    work = arena.take<T>(workSize);
    integerWork = arena.take<Int>(integerSize);
  }

  // Values ascending, column j of `vectors` belongs to value j. kNotFinite, or LAPACK's info.
  int32_t operator()(const View<T>& from, bool upper) {
    if (!pack(from, vectors, lead, triangle(upper))) return kNotFinite;
    const char job = 'V', uplo = upper ? 'U' : 'L';
    Written info;
    Lapack::get()->functions<T>().syevd(&job, &uplo, &n, vectors, &lead, values, work, &workSize,
                                        integerWork, &integerSize, info, 1, 1);
    return static_cast<int32_t>(info.value());
  }

  const Int n, lead;
  T *vectors, *values, *work;
  Int* integerWork;
  Int workSize, integerSize;
};

struct EighArgs {
  Batch batch;
  Matrix a, values, vectors;
  alignas(8) int32_t* infos;
  int64_t upper;
};

template <class T>
struct Eigh {
  using Args = EighArgs;

  Eigh(const Args& args, Arena& arena)
      : args(args), eigen(args.a.rows, arena) {}

  void operator()(const Team&, int64_t index) {
    const int32_t info = eigen(viewOf<T>(args.batch, args.a, index), args.upper != 0);
    const auto values = viewOf<T>(args.batch, args.values, index);
    const auto vectors = viewOf<T>(args.batch, args.vectors, index);
    if (info == 0) {
      unpack(eigen.values, eigen.lead, values);
      unpack(eigen.vectors, eigen.lead, vectors);
    } else {
      fillNaN(values);
      fillNaN(vectors);
    }
    args.infos[index] = info;
  }

  const Args& args;
  SymmetricEigen<T> eigen;
};

}  // namespace mercer::cpu
