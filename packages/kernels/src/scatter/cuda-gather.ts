import type { DType } from '../dtype.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { cudaHead, MOST_BLOCKS, ROW_OF, THREADS } from './cuda-text.js';
import { gatherRowsCost, gatherRowsParams, scatterSpelling } from './scatter-params.js';
import type { GatherRowsPlan } from './scatter-plan-types.js';

/** The bits of an element that is not there, what a gather writes where its table has no row, and the type that holds them: a quiet NaN, or 0 where there is none. */
const MISSING: { readonly [D in DType]: { readonly type: string; readonly bits: string } } = {
  float64: { type: 'u64', bits: '0x7ff8000000000000ull' },
  float32: { type: 'u32', bits: '0x7fc00000u' },
  float16: { type: 'u16', bits: '0x7e00u' },
  bfloat16: { type: 'u16', bits: '0x7fc0u' },
  int64: { type: 'u64', bits: '0ull' },
  int32: { type: 'u32', bits: '0u' },
  uint8: { type: 'u8', bits: '0u' },
  bool: { type: 'u8', bits: '0u' },
};

/** The kernel that takes rows by index on a GPU, a thread for each element. */
export function cudaGatherRowsKernel(plan: GatherRowsPlan): CudaKernel {
  const { type, bits } = MISSING[plan.dtype];
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
