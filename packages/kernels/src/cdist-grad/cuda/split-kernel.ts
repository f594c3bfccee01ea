import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import { sizesOf } from '../program.js';
import type { CudaCdistGradPlan } from '../plan-types.js';
import { signature } from './signature.js';

const THREADS = 256;

/** The second step of a plan that splits k: partial sums added in a fixed order. */
export function splitKernel(plan: CudaCdistGradPlan): CudaKernel {
  const { dtype, splitK } = plan;
  const type = cudaType(dtype);
  const { params, list } = signature(plan, 'read');
  const source = `extern "C" __global__ void __launch_bounds__(${THREADS})
cdist_grad_split(${list}) {
  const long long perRow = n * m, perLayer = perRow * o, total = perLayer * batch;
  const long long first = (long long)blockIdx.x * ${THREADS} + threadIdx.x;
  for (long long i = first; i < total; i += (long long)gridDim.x * ${THREADS}) {
    ${type} sum = workspace[i];
    #pragma unroll ${Math.min(splitK - 1, 8)}
    for (int part = 1; part < ${splitK}; ++part) sum += workspace[part * total + i];
    const long long layer = i / perLayer, inLayer = i - layer * perLayer, row = inLayer / perRow;
    const long long inRow = inLayer - row * perRow, line = inRow / m;
    out[layer * batchStrideOut + row * strideO + line * ldo + (inRow - line * m)] = sum;
  }
}
`;
  return {
    dialect: 'cuda',
    name: `${plan.summary}, combine`,
    entry: 'cdist_grad_split',
    source,
    params,
    options: [],
    geometry: (scalars: Scalars) => {
      const { m, n, o, batch } = sizesOf(scalars);
      const blocks = Math.ceil((m * n * o * batch) / THREADS);
      return { grid: [Math.min(blocks, 65_535), 1, 1], block: [THREADS, 1, 1], sharedMemBytes: 0 };
    },
    cost: (scalars: Scalars) => {
      const { m, n, o, batch } = sizesOf(scalars);
      const outputs = m * n * o * batch;
      return {
        bytes: outputs * (splitK + 1) * dtypeBytes(dtype),
        flops: outputs * (splitK - 1),
        issueSlots: outputs * (splitK - 1),
      };
    },
  };
}
