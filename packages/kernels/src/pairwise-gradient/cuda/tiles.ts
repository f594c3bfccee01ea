import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import { lines } from '../../emit/indent.js';
import type { PairwiseDType } from '../../pairwise/problem.js';
import type { CudaGradientPlan } from '../gradient-plan.js';
import { CUDA_TILE_COLUMNS } from './sizes.js';
import type { PlanExpressions } from '../plan-expressions.js';

/** Functions that read neighbouring elements of shared memory, 16 bytes at a time. */
export function cudaReadText(dtype: PairwiseDType): string {
  return dtype === 'float32'
    ? `__device__ __forceinline__ void read1(float* r, const float* s) { *r = *s; }
__device__ __forceinline__ void read2(float* r, const float* s) {
  const float2 v = *reinterpret_cast<const float2*>(s);
  r[0] = v.x; r[1] = v.y;
}
__device__ __forceinline__ void read4(float* r, const float* s) {
  const float4 v = *reinterpret_cast<const float4*>(s);
  r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w;
}`
    : `__device__ __forceinline__ void read1(double* r, const double* s) { *r = *s; }
__device__ __forceinline__ void read2(double* r, const double* s) {
  const double2 v = *reinterpret_cast<const double2*>(s);
  r[0] = v.x; r[1] = v.y;
}
__device__ __forceinline__ void read4(double* r, const double* s) {
  read2(r, s);
  read2(r + 2, s + 2);
}`;
}

/** Sizes, and the functions that copy a piece of an operand into shared memory, kept by k. */
export function loadText(plan: CudaGradientPlan): string {
  const padding = 16 / dtypeBytes(plan.dtype);
  const rows = 16 * plan.rowsPerThread;
  const extents = [
    `ROWS = ${rows}, COLUMNS = ${CUDA_TILE_COLUMNS}, STEPS = ${plan.tileK}`,
    // 16 bytes of padding spread neighbouring steps of k over the banks
    `ROW_STRIDE = ROWS + ${padding}, COLUMN_STRIDE = COLUMNS + ${padding}`,
    ...(plan.target === 'rows' && plan.reduce === 'max' ? ['INDEX_STRIDE = COLUMNS + 4'] : []),
  ];
  return lines(
    ...extents.map((each) => `constexpr int ${each};`),
    loadFunction('rows', plan.dtype, rows, 'ROW_STRIDE'),
    loadFunction('columns', plan.dtype, CUDA_TILE_COLUMNS, 'COLUMN_STRIDE'),
  );
}

/**
 * Beyond the end the last point is repeated: what such pairs contribute is weighted by an upstream
 * gradient of 0, and is finite where the last real pair is. Steps of k past the end are not read. A
 * warp takes 8 steps of k of 4 points where k is contiguous, else 32 points of one step: whole sectors
 * of memory and all banks of shared memory.
 */
function loadFunction(name: string, dtype: PairwiseDType, extent: number, stride: string): string {
  const type = cudaType(dtype);
  const passes = Math.max(1, extent / 32);
  const guard = extent < 32 ? `point < ${extent} && ` : '';
  return `__device__ __forceinline__ void load_${name}(${type}* to, const ${type}* __restrict__ from, long long stride, long long stepStride, long long start, long long count, long long k0, int steps) {
  const bool alongSteps = stepStride == 1;
  const int point = alongSteps ? threadIdx.x / 8 : threadIdx.x % 32, step = alongSteps ? threadIdx.x % 8 : threadIdx.x / 32;
  const ${type}* const first = from + (k0 + step) * stepStride;
  ${type}* const target = to + step * ${stride} + point;
  #pragma unroll
  for (int i = 0; i < ${passes}; ++i) {
    const ${type}* const source = first + min(start + point + 32 * i, count - 1) * stride;
    #pragma unroll
    for (int j = 0; j < STEPS / 8; ++j)
      if (${guard}step + 8 * j < steps) target[8 * j * ${stride} + 32 * i] = source[8 * j * stepStride];
  }
}`;
}

/** Names of the tiles in shared memory. */
export function cudaTilesText(plan: CudaGradientPlan, { pairs }: PlanExpressions): string {
  const type = cudaType(plan.dtype);
  const rows = plan.target === 'rows';
  return lines(
    `${type}* const rowTile = reinterpret_cast<${type}*>(memory);`,
    `${type}* const columnTile = rowTile + STEPS * ROW_STRIDE;`,
    (plan.readsSum || pairs.length > 0) &&
      `${type}* const pairTile = columnTile + STEPS * COLUMN_STRIDE;`,
    rows &&
      plan.reduce === 'max' &&
      `int* const indexTile = reinterpret_cast<int*>(pairTile + ${pairs.length} * ROWS * COLUMN_STRIDE);`,
  );
}

/** A walk over k in shared memory: `body` for each piece, with `k0` and `steps`. */
export function walkText(body: string, reload = ''): string {
  return `#pragma unroll 1
for (long long k0 = 0; k0 < k; k0 += STEPS) {
  const int steps = (int)min(k - k0, (long long)STEPS);
  ${reload === '' ? '' : `if (${reload}) `}{
    __syncthreads();
    load_rows(rowTile, a, rowStrideA, stepStrideA, rowStart, m, k0, steps);
    load_columns(columnTile, b, rowStrideB, stepStrideB, columnStart, n, k0, steps);
    __syncthreads();
  }
${body}
}`;
}
