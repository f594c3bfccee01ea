import { dtypeBytes } from '../../dtype.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import { diagonalLength, diagonalParams } from '../params.js';
import { readValue, valueFunction } from './parameters.js';

const THREADS = 256;
const MOST_BLOCKS = 65536;

/** The last step of a plan that regularises a diagonal of the output. */
export function diagonalKernel(plan: CudaPairwisePlan): CudaKernel {
  const type = cudaType(plan.dtype);
  const total = (scalars: Scalars): number => (scalars['batch'] ?? 0) * diagonalLength(scalars);
  const set = plan.diagonal === 'set';
  const [row, column] = plan.swapped ? ['1', 'ldo'] : ['ldo', '1'];
  return cudaKernel({
    name: `pairwise diagonal ${set ? 'set to 1 + r' : 'plus r'}, ${plan.dtype}${plan.swapped ? ', transposed output' : ''}`,
    entry: 'pairwise_diagonal',
    params: diagonalParams(plan.dtype),
    list: { lines: ['batchStrideOut', 'regularizationAt'] },
    before: `${valueFunction(plan.dtype)}

// elements with n = m + diagonalOffset
`,
    threads: THREADS,
    body: `  const long long row = max(-diagonalOffset, 0ll), column = max(diagonalOffset, 0ll);
  const long long count = max(min(m - row, n - column), 0ll);
  const long long first = (long long)blockIdx.x * ${THREADS} + threadIdx.x;
  for (long long e = first; e < count * batch; e += (long long)gridDim.x * ${THREADS}) {
    const long long layer = e / count, i = e - layer * count;
    const double r = ${readValue('regularization', 'layer')};
    ${type}& element = out[layer * batchStrideOut + (row + i) * ${row} + (column + i) * ${column}];
    element = (${type})(${set ? '1.0' : '(double)element'} + r);
  }`,
    grid: (scalars) => Math.min(Math.ceil(total(scalars) / THREADS), MOST_BLOCKS),
    cost: (scalars: Scalars) => ({
      bytes: total(scalars) * dtypeBytes(plan.dtype) * (set ? 1 : 2),
      flops: total(scalars),
    }),
  });
}
