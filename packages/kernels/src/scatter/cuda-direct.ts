import { elementInfo } from '../elementwise/element-type.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { cudaHead, THREADS } from './cuda-text.js';
import {
  countRowsCost,
  countRowsParams,
  scatterAddCost,
  scatterAddParams,
  scatterSpelling,
} from './scatter-params.js';
import type { CountRowsPlan, ScatterAddPlan } from './scatter-plan-types.js';

const WARPS = THREADS / 32;
/** Columns whose sums a thread keeps. */
export const DIRECT_COLUMNS = 16;
/** Indices that a thread waits for at a time. */
const AT_ONCE = 8;

/** `body` for every entry of row `row`, with its number; `count` and `index` are in scope. */
const entriesOfRow = (body: (n: string) => string): string => `
  for (i64 from = threadIdx.x; from < count; from += ${AT_ONCE * THREADS}) {
    bool mine[${AT_ONCE}];
    #pragma unroll
    for (int j = 0; j < ${AT_ONCE}; ++j) {
      const i64 n = from + j * ${THREADS};
      mine[j] = n < count && (i64)index[n] == row;
    }
    #pragma unroll
    for (int j = 0; j < ${AT_ONCE}; ++j)
      if (mine[j]) ${body(`(from + j * ${THREADS})`)}
  }`;

/** The sum of `value` over the lanes of a warp, in the first. */
const overLanes = (type: string, value: string): string => `
    #pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const ${type} other = __shfl_down_sync(0xffffffffu, ${value}, step);
      ${value} += other;
    }`;

/** Sums by index where there are few entries: a block has one row, reads the whole index and adds in an order of its own. */
export function cudaDirectKernel(plan: ScatterAddPlan): CudaKernel {
  const { from, to } = plan;
  const [S = '', D = ''] = [from, to].map((dtype) => elementInfo(dtype).storage);
  return cudaKernel({
    name: plan.summary,
    entry: 'scatter_direct',
    params: scatterAddParams(plan),
    list: scatterSpelling({ values: S, out: D }),
    before: `${cudaHead}\n`,
    threads: THREADS,
    body: `  __shared__ double sums[${WARPS}][${DIRECT_COLUMNS}];
  const i64 row = blockIdx.x, first = (i64)blockIdx.y * ${DIRECT_COLUMNS};
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double sum[${DIRECT_COLUMNS}] = {};${entriesOfRow(
    (n) => `{
        const ${S}* const value = values + ${n} * valueStride + first;
        #pragma unroll
        for (int c = 0; c < ${DIRECT_COLUMNS}; ++c)
          if (first + c < columns) sum[c] += (double)value[c];
      }`,
  )}
  #pragma unroll
  for (int c = 0; c < ${DIRECT_COLUMNS}; ++c) {
    if (first + c >= columns) break;${overLanes('double', 'sum[c]')}
    if (lane == 0) sums[warp][c] = sum[c];
  }
  __syncthreads();
  const int c = threadIdx.x;
  if (c >= ${DIRECT_COLUMNS} || first + c >= columns) return;
  double all = sums[0][c];
  #pragma unroll
  for (int w = 1; w < ${WARPS}; ++w) all += sums[w][c];
  out[row * columns + first + c] = (${D})all;`,
    grid: ({ rows = 0, columns = 0 }) => [rows, Math.ceil(columns / DIRECT_COLUMNS), 1],
    cost: (scalars) => scatterAddCost(plan, scalars),
  });
}

/** Counts likewise. */
export function cudaDirectCountKernel(plan: CountRowsPlan): CudaKernel {
  const D = elementInfo(plan.to).storage;
  return cudaKernel({
    name: plan.summary,
    entry: 'count_rows_direct',
    params: countRowsParams(plan),
    list: scatterSpelling({ out: D }),
    before: `${cudaHead}\n`,
    threads: THREADS,
    body: `  __shared__ u32 sums[${WARPS}];
  const i64 row = blockIdx.x;
  u32 sum = 0u;${entriesOfRow(() => '++sum;')}
  {${overLanes('u32', 'sum')}
  }
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  u32 all = sums[0];
  #pragma unroll
  for (int w = 1; w < ${WARPS}; ++w) all += sums[w];
  out[row] = (${D})all;`,
    grid: ({ rows = 0 }) => rows,
    cost: (scalars) => countRowsCost(plan, scalars),
  });
}
