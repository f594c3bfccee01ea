import { unsafeKernel } from '../index.js';

/** A kernel as a user writes it, which has the opposite of every element. */
export const negated = unsafeKernel({
  name: 'negated',
  parameters: { x: { input: 'float32' }, y: { output: 'float32' }, n: { size: 'int64' } },
  sizes: ({ x }) => ({ y: x.shape, n: x.size }),
  launch: ({ n }) => ({ grid: Math.ceil(n / 256), block: 256, tasks: n }),
  cuda: `
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = -x[i];`,
  cpu: 'for (i64 i = begin; i < end; ++i) y[i] = -x[i];',
});
