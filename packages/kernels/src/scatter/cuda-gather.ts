import { cudaKernel } from '../emit/cuda-kernel.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { cudaHead, MOST_BLOCKS, ROW_OF, THREADS } from './cuda-text.js';
import { missingElement } from './missing-element.js';
import { gatherRowsCost, gatherRowsParams, scatterSpelling } from './scatter-params.js';
import type { GatherRowsPlan } from './scatter-plan-types.js';

/** The kernel that takes rows by index on a GPU, a thread for each element. */
export function cudaGatherRowsKernel(plan: GatherRowsPlan): CudaKernel {
  const { type, bits } = missingElement(plan.dtype);
  return cudaKernel({
    name: plan.summary,
    entry: 'gather_rows',
    params: gatherRowsParams(plan),
    list: scatterSpelling({ x: type, out: type }),
    before: `${cudaHead}${ROW_OF}\n`,
    threads: THREADS,
    body: `  for (i64 i = (i64)blockIdx.x * ${THREADS} + threadIdx.x; i < count * columns; i += (i64)gridDim.x * ${THREADS}) {
    const i64 n = row_of(i, columns), r = (i64)index[n];
    out[i] = (u64)r < (u64)rows ? x[r * tableStride + (i - n * columns)] : (${type})${bits};
  }`,
    grid: ({ count = 0, columns = 0 }) =>
      Math.min(Math.ceil((count * columns) / THREADS), MOST_BLOCKS),
    cost: (scalars) => gatherRowsCost(plan, scalars),
  });
}
