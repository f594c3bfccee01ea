// cuSOLVER's dense factorisations and solves that only enqueue: they can be captured in a graph.
//
// Matrices are column-major, `type` is cudaDataType (float32 or float64), an info is one int32 in
// device memory: 0, -i when argument i is wrong, or the index (from 1) at which the matrix failed.
#pragma once

#include "workspace.h"

namespace mercer {

WorkspaceBytes choleskyWorkspace(Stream& stream, int type, int uplo, int64_t n, int64_t leading);
WorkspaceBytes luWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading);
WorkspaceBytes qrWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading);

/// a = L L' or U' U in the triangle `uplo` (0 lower, 1 upper).
void cholesky(Stream& stream, int type, int uplo, const Matrix& a, const Scratch& work, const Region& info);
/// b (n x c) becomes the solution of a x = b, given the factor.
void choleskySolve(Stream& stream, int type, int uplo, const Matrix& a, const Matrix& b, const Region& info);

/// p a = l u; `pivots` are min(rows, columns) int64, or nothing for none.
void lu(Stream& stream, int type, const Matrix& a, const Region& pivots, const Scratch& work, const Region& info);
/// b becomes the solution of a x = b, or of a' x = b with `transpose` 1.
void luSolve(Stream& stream, int type, int transpose, const Matrix& a, const Region& pivots, const Matrix& b,
             const Region& info);

/// a = q r: r in the upper triangle, reflectors below, their min(rows, columns) factors in `tau`.
void qr(Stream& stream, int type, const Matrix& a, const Region& tau, const Scratch& work, const Region& info);

}  // namespace mercer
