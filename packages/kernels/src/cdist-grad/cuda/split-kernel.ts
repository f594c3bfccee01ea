import { dtypeBytes } from '../../dtype.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import { sizesOf } from '../program.js';
import type { CudaCdistGradPlan } from '../plan-types.js';
import { signature } from './staged-kernel.js';

const THREADS = 256;

/** The second step of a plan that splits k: partial sums added in a fixed order. */
export function splitKernel(plan: CudaCdistGradPlan): CudaKernel {
  const { dtype, splitK } = plan;
  const type = cudaType(dtype);
  const outputCount = (scalars: Scalars): number => {
    const { m, n, o, batch } = sizesOf(scalars);
    return m * n * o * batch;
  };
  return cudaKernel({
    name: `${plan.summary}, combine`,
    entry: 'cdist_grad_split',
    ...signature(plan, 'read'),
    threads: THREADS,
    body: `  const long long perRow = n * m, perLayer = perRow * o, total = perLayer * batch;
  const long long first = (long long)blockIdx.x * ${THREADS} + threadIdx.x;
  for (long long i = first; i < total; i += (long long)gridDim.x * ${THREADS}) {
    ${type} sum = workspace[i];
    #pragma unroll ${Math.min(splitK - 1, 8)}
    for (int part = 1; part < ${splitK}; ++part) sum += workspace[part * total + i];
    const long long layer = i / perLayer, inLayer = i - layer * perLayer, row = inLayer / perRow;
    const long long inRow = inLayer - row * perRow, line = inRow / m;
    out[layer * batchStrideOut + row * strideO + line * ldo + (inRow - line * m)] = sum;
  }`,
    grid: (scalars) => Math.min(Math.ceil(outputCount(scalars) / THREADS), 65_535),
    cost: (scalars) => {
      const outputs = outputCount(scalars);
      return {
        bytes: outputs * (splitK + 1) * dtypeBytes(dtype),
        flops: outputs * (splitK - 1),
        issueSlots: outputs * (splitK - 1),
      };
    },
  });
}
