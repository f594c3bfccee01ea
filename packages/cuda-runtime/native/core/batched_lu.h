// LU factorisations and solves of many small matrices through cuBLAS, which only enqueue.
#pragma once

#include "operand.h"

namespace mercer {

/// Square matrices of order n at `count` device addresses in `pointers`. `type` is cudaDataType,
/// float32 or float64; `pivots` are count * n int32 counted from 1, or nothing for none.
struct LuBatch {
  int type = 0;
  int64_t n = 0;
  Region pointers;
  int64_t leading = 0;
  int64_t count = 0;
  Region pivots;
};

/// p a = l u in place; `infos` has one int32 each. `work` may be without a buffer.
void luBatched(Stream& stream, const LuBatch& batch, const Region& infos, const Scratch& work);

/// The n x columns right-hand sides at the addresses in `rightPointers` become the solutions of a x = b, or
/// of a' x = b with `transpose` 1.
void luSolveBatched(Stream& stream, const LuBatch& batch, int transpose, int64_t columns,
                    const Region& rightPointers, int64_t rightLeading, const Scratch& work);

}  // namespace mercer
