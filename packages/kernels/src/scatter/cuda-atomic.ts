import { dtypeBytes } from '../dtype.js';
import { elementInfo } from '../elementwise/element-type.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import type { CudaKernel, Scalars } from '../emitted-kernel.js';
import { cudaHead, MOST_BLOCKS, ROW_OF, THREADS } from './cuda-text.js';
import {
  countRowsCost,
  countRowsParams,
  scatterAddCost,
  scatterAddParams,
  scatterSpelling,
} from './scatter-params.js';
import type { CountRowsPlan, ScatterAddPlan } from './scatter-plan-types.js';

/** Bytes of a block's own copy of the result, where it is no larger. */
const OWN_BYTES = 32768;
/** Elements that pay for a block's copy. */
const ELEMENTS_PER_BLOCK = 16 * THREADS;

function blocksOf(elements: number, isOwn: boolean, multiprocessors: number): number {
  const blocks = isOwn
    ? Math.min(Math.ceil(elements / ELEMENTS_PER_BLOCK), 4 * multiprocessors)
    : Math.ceil(elements / THREADS);
  return Math.min(blocks, MOST_BLOCKS);
}

/** Sums by index that add by atomic operations, to a block's own copy of a small result first. */
export function cudaAtomicKernel(plan: ScatterAddPlan): CudaKernel {
  const { from, to } = plan;
  const [S = '', D = ''] = [from, to].map((dtype) => elementInfo(dtype).storage);
  const own = OWN_BYTES / dtypeBytes(to);
  const isOwn = ({ rows = 0, columns = 0 }: Scalars): boolean => rows * columns <= own;
  return cudaKernel({
    name: plan.summary,
    entry: 'scatter_atomic',
    params: scatterAddParams(plan),
    list: scatterSpelling({ values: S, out: D }, ['out']),
    before: `${cudaHead}${ROW_OF}\n`,
    threads: THREADS,
    body: `  __shared__ ${D} own[${own}];
  const i64 size = rows * columns;
  const bool copies = size <= ${own};
  if (copies) {
    for (i64 i = threadIdx.x; i < size; i += ${THREADS}) own[i] = 0;
    __syncthreads();
  }
  for (i64 i = (i64)blockIdx.x * ${THREADS} + threadIdx.x; i < count * columns; i += (i64)gridDim.x * ${THREADS}) {
    const i64 n = row_of(i, columns), c = i - n * columns, r = (i64)index[n];
    if ((u64)r >= (u64)rows) continue;
    const ${D} value = (${D})values[n * valueStride + c];
    if (copies) atomicAdd(&own[r * columns + c], value);
    else atomicAdd(out + r * columns + c, value);
  }
  if (!copies) return;
  __syncthreads();
  for (i64 i = threadIdx.x; i < size; i += ${THREADS})
    if (own[i] != 0) atomicAdd(out + i, own[i]);`,
    grid: (scalars) => {
      const { count = 0, columns = 0 } = scalars;
      return blocksOf(count * columns, isOwn(scalars), plan.multiprocessors);
    },
    cost: (scalars) => scatterAddCost(plan, scalars),
  });
}

/** Counts by integer atomic operations, to a block's own copy first where there are few rows: exact in any order. */
export function cudaCountRowsKernel(plan: CountRowsPlan): CudaKernel {
  const own = OWN_BYTES / 4;
  const D = plan.to === 'int32' ? 'u32' : 'u64';
  return cudaKernel({
    name: plan.summary,
    entry: 'count_rows',
    params: countRowsParams(plan),
    list: scatterSpelling({ out: D }, ['out']),
    before: `${cudaHead}\n`,
    threads: THREADS,
    body: `  __shared__ u32 own[${own}];
  const i64 step = (i64)gridDim.x * ${THREADS}, first = (i64)blockIdx.x * ${THREADS};
  if (rows <= ${own}) {
    for (i64 i = threadIdx.x; i < rows; i += ${THREADS}) own[i] = 0u;
    __syncthreads();
    for (i64 n = first + threadIdx.x; n < count; n += step) {
      const i64 r = (i64)index[n];
      if ((u64)r < (u64)rows) atomicAdd(&own[r], 1u);
    }
    __syncthreads();
    for (i64 i = threadIdx.x; i < rows; i += ${THREADS})
      if (own[i] != 0u) atomicAdd(out + i, (${D})own[i]);
    return;
  }
  for (i64 from = first; from < count; from += step) {
    const i64 n = from + threadIdx.x;
    const u32 r = n < count && (u64)(i64)index[n] < (u64)rows ? (u32)index[n] : 0xffffffffu;
    // lanes that meet the first one's row add once: most do where most indices are the same
    const u32 lead = __shfl_sync(0xffffffffu, r, 0);
    const u32 with = __ballot_sync(0xffffffffu, r == lead);
    if (r == 0xffffffffu) continue;
    if (r != lead) atomicAdd(out + r, (${D})1);
    else if (threadIdx.x % 32 == 0) atomicAdd(out + r, (${D})__popc(with));
  }`,
    grid: ({ count = 0, rows = 0 }) => blocksOf(count, rows <= own, plan.multiprocessors),
    cost: (scalars) => countRowsCost(plan, scalars),
  });
}
