// Kernels that hold no formula, as the packed parameters of a launch describe them: the structs here are those parameters, field by
// field. An address has eight bytes, also where a pointer has four (WebAssembly). Built once for each instruction set; every list of
// types is that of packages/kernels/src/elementwise/element-type.ts.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace mercer::cpu::kernels {

using Fn = void (*)(const void* args, int64_t begin, int64_t end, void* scratch);

// Converts a row of elements; strides in elements.
using RowFn = void (*)(void* to, int64_t toStride, const void* from, int64_t fromStride, int64_t count);

// float64, float32, float16, bfloat16, int64, int32, uint8, bool, then raw elements of 1, 2, 4, 8 bytes.
constexpr int64_t kTypes = 12;
constexpr int64_t kElementBytes[kTypes] = {8, 4, 2, 2, 8, 4, 1, 1, 1, 2, 4, 8};

constexpr int64_t kMostDims = 8;

// dst[sum i d] = src[sum i s], converted, over `rank` dimensions, outermost first. Tiled: the last dimension is contiguous in dst, the
// one before it in src.
struct CopyArgs {
  alignas(8) const uint8_t* src;
  alignas(8) uint8_t* dst;
  int64_t from, to, tiled, rank;
  int64_t n[kMostDims], s[kMostDims], d[kMostDims];
};

// The element's bits are lo and hi.
struct FillArgs {
  alignas(8) uint8_t* dst;
  alignas(8) int32_t bits[2];
  int64_t type, rank;
  int64_t n[kMostDims], d[kMostDims];
};

// dst[o * inner + i] = sum_j src[o * strideOuter + j * strideCount + i * strideInner]
struct SumArgs {
  alignas(8) const void* src;
  alignas(8) void* dst;
  int64_t outer, count, inner, strideOuter, strideCount, strideInner;
  int64_t from64, to64;  // float64, else float32
};

// dst[(o * parts + part) * inner + i] from src[o * strideOuter + j * strideCount + i * strideInner] for the elements j of the part.
struct ReduceArgs {
  alignas(8) const void* src;
  alignas(8) void* dst;
  int64_t outer, count, inner, strideOuter, strideCount, strideInner, parts, perPart;
  double divisor;
  int64_t kind, from64, to64;  // in the order of packages/kernels/src/reduce/cpu-reduce.ts; float64, else float32
};

// Sums of rows by index. Tasks own rows and columns of the result; the sorted mode has them in `workspace`, count + rows numbers.
struct ScatterArgs {
  alignas(8) const void* values;
  alignas(8) const void* index;
  alignas(8) void* out;
  int64_t count, rows, columns, valueStride, rowsPerTask, columnsPerTask;
  int64_t from64, to64, index64;  // float64 and int64
};

struct ScatterSortedArgs {
  ScatterArgs scatter;
  alignas(8) int32_t* workspace;
};

struct CountRowsArgs {
  alignas(8) const void* index;
  alignas(8) void* out;
  int64_t count, rows, rowsPerTask;
  int64_t index64, to64;  // int64, else int32
};

struct GatherRowsArgs {
  alignas(8) const void* x;
  alignas(8) const void* index;
  alignas(8) void* out;
  int64_t count, rows, columns, tableStride;
  int64_t type, index64;
};

// Rows scaled by feature, normalised, and their norms. Pointers that are null: not in memory, not wanted.
struct RowsArgs {
  alignas(8) const void* x;
  alignas(8) void* out;
  int64_t m, k, batch, ldx, ldo, batchStrideX, batchStrideOut;
  alignas(8) const void* scaleAt;
  int64_t scaleBatchStride, scaleStride;
  double scaleValue;
  alignas(8) void* norms;
  int64_t wide, columns, scaled, normalise;  // float64; x is column-major
};

// The gradient of such rows; `ofScale`: what each element contributes to that of its factor.
struct RowsGradientArgs {
  alignas(8) const void* x;
  alignas(8) const void* dy;
  alignas(8) void* out;
  alignas(8) const void* scaleAt;
  int64_t m, k, batch, rowStrideX, stepStrideX, batchStrideX, scaleBatchStride, scaleStride;
  double scaleValue;
  int64_t wide, normalise, ofScale;
};

// Sets a diagonal of matrices to 1 + value, or adds the value to it.
struct DiagonalArgs {
  alignas(8) void* out;
  int64_t m, n, batch, ldo, batchStrideOut, offset;
  alignas(8) const void* at;
  int64_t stride;
  double value;
  int64_t wide, columns, add;
};

// dst[r * count + i] is where the element i of row r is before the row is sorted; NaN comes last, equal elements keep their order. The
// keys have 4 words for each element of 8 bytes, 2 for each of others.
struct ArgSortArgs {
  alignas(8) const uint8_t* src;
  alignas(8) int32_t* dst;
  alignas(8) uint8_t* keys;
  int64_t rows, count, rowStride, stride, rowsPerTask;
  int64_t type, descending;
};

// dst[r, i] = src[r, 0] + ... + src[r, i], in double or, of whole numbers, in 64 bits.
struct CumSumArgs {
  alignas(8) const uint8_t* src;
  alignas(8) uint8_t* dst;
  int64_t rows, count, rowStride, stride, dstRowStride, dstStride, rowsPerTask;
  int64_t type, to;
};

// shift + scale x, x being a uniform number of as many bits, or a normal one made of 32 or 53 (docs/adr/0035).
struct RandomArgs {
  alignas(8) void* out;
  int64_t count, keyLow, keyHigh;
  double shift, scale;
  int64_t normal, bits, type;
};

// The kernels as built for one instruction set.
struct Level {
  const char* name;
  const RowFn (*rows)[kTypes];  // by the types' numbers; null between raw elements and others
  Fn copy, fill, sum, reduce, scatterAdd, scatterAddSorted, countRows, gatherRows, prepareRows, rowsGradient, diagonal, random,
      argSort, cumSum;
};

}  // namespace mercer::cpu::kernels
