// Triangular solves through cuBLAS, which only enqueue.
#pragma once

#include "operand.h"

namespace mercer {

/// op(a) x = alpha b (side 0) or x op(a) = alpha b (side 1) for the triangle `uplo` of a; x replaces b, of
/// rows x columns, column-major. `type` is cudaDataType, float32 or float64; alpha is rounded to it.
struct TriangularSolve {
  int type = 0, side = 0, uplo = 0, transpose = 0, unit = 0;
  int64_t rows = 0, columns = 0;
  double alpha = 1;

  /// Rows and columns of a.
  int64_t order() const { return side == 0 ? rows : columns; }
};

/// `work` may be without a buffer: the handle has memory of its own.
void triangularSolve(Stream& stream, const TriangularSolve& solve, const Region& a, int64_t leadingA,
                     const Region& b, int64_t leadingB, const Scratch& work);

/// The same for the matrices at `count` pairs of device addresses in `pointers` and `rightPointers`.
void triangularSolveBatched(Stream& stream, const TriangularSolve& solve, const Region& pointers,
                            int64_t leadingA, const Region& rightPointers, int64_t leadingB, int64_t count,
                            const Scratch& work);

}  // namespace mercer
