import { dtypeBytes } from '../../dtype.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import { type CudaKernel, type Scalars, withWorkspace } from '../../emitted-kernel.js';
import type { TilePlan } from '../plan-types.js';
import { signature, roleCounts, roleSizes } from './kernel-signature.js';
import { finishFunction, pairFunctions, pairStep } from './pair-step.js';

const THREADS = 256;
const MOST_BLOCKS = 65536;

/** The second step of a plan that splits k: partial sums combined in a fixed order, then the root. */
export function splitReduceKernel(plan: TilePlan): CudaKernel {
  const type = cudaType(plan.dtype);
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  const symmetric = plan.symmetric === true;
  const place = `    const long long layer = i / perBatch, row = (i - layer * perBatch) / columnCount;
    const long long column = i - layer * perBatch - row * columnCount;`;
  const body = `  ${roleCounts(plan)}
  const long long perBatch = rowCount * columnCount, total = perBatch * batch;
  const long long first = (long long)blockIdx.x * ${THREADS} + threadIdx.x;
  for (long long i = first; i < total; i += (long long)gridDim.x * ${THREADS}) {
${symmetric ? `${place}\n    if (row < column) continue;\n` : ''}    ${type} sum = workspace[i];
    #pragma unroll ${Math.min(plan.splitK - 1, 8)}
    for (int part = 1; part < ${plan.splitK}; ++part) {
      const ${type} next = workspace[part * total + i];
      sum = ${step.combine('sum', 'next')};
    }
${symmetric ? '' : `${place}\n`}${finish.setup('layer') === '' ? '' : `    ${finish.setup('layer')}\n`}${
    symmetric
      ? `    const ${type} value = ${finish.call('sum')};
    out[layer * batchStrideOut + row * ldo + column] = value;
    out[layer * batchStrideOut + column * ldo + row] = value;`
      : `    out[layer * batchStrideOut + row * ldo + column] = ${finish.call('sum')};`
  }
  }`;
  const outputCount = (scalars: Scalars): number => {
    const { rows, columns, batch } = roleSizes(plan, scalars);
    return rows * columns * batch;
  };
  return cudaKernel({
    name: `${plan.summary}, combine`,
    entry: 'pairwise_split_reduce',
    ...signature(plan, (params) => withWorkspace(params, 'read')),
    before: `${pairFunctions(plan, step)}\n\n`,
    threads: THREADS,
    body,
    grid: (scalars) => Math.min(Math.ceil(outputCount(scalars) / THREADS), MOST_BLOCKS),
    cost: (scalars) => {
      const outputs = outputCount(scalars);
      const bytes = outputs * (plan.splitK + 1) * dtypeBytes(plan.dtype);
      return { bytes, flops: outputs * plan.splitK, issueSlots: outputs * plan.splitK };
    },
  });
}
