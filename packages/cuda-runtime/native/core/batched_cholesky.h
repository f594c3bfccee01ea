// Cholesky factorisations and solves of many small matrices, which only enqueue.
#pragma once

#include "operand.h"

namespace mercer {

/// `count` factorisations of n x n at the device addresses in `pointers`; `infos` has one int32 each.
void choleskyBatched(Stream& stream, int type, int uplo, int64_t n, const Region& pointers, int64_t leading,
                     int64_t count, const Region& infos);

/// One right-hand side each, which is all that cuSOLVER offers here; `info` is one int32, the number of
/// an argument that is wrong.
void choleskySolveBatched(Stream& stream, int type, int uplo, int64_t n, const Region& pointers, int64_t leading,
                          const Region& rightPointers, int64_t rightLeading, int64_t count, const Region& info);

}  // namespace mercer
