import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { matrixKernel } from './matrix-kernel.js';

/** Adds `step` to the number in `counter`. */
export function emitAdvance(): CudaKernel {
  return matrixKernel({
    name: 'advance counter',
    entry: 'advance_counter',
    threads: 1,
    grid: () => 1,
    params: [pointer('counter', 'int32', 'readwrite'), int64('step')],
    body: 'counter[0] += (int)step;',
  });
}
