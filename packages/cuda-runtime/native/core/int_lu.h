// LU by cuSOLVER's calls of one element type, whose pivots and dimensions are int: a solve exchanges rows quicker
// with them than with the 64-bit interface of factorization.h, and a matrix has less than 2^31 elements.
#pragma once

#include "workspace.h"

namespace mercer {

WorkspaceBytes intLuWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading);

/// p a = l u; `pivots` are min(rows, columns) int32, or nothing for none.
void intLu(Stream& stream, int type, const Matrix& a, const Region& pivots, const Scratch& work, const Region& info);

/// b becomes the solution of a x = b, or of a' x = b with `transpose` 1.
void intLuSolve(Stream& stream, int type, int transpose, const Matrix& a, const Region& pivots, const Matrix& b,
                const Region& info);

}  // namespace mercer
