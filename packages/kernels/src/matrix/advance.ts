import type { CudaKernel } from '../emitted-kernel.js';
import { int64, matrixKernel, pointer } from './matrix-kernel.js';

/** Adds `step` to the number in `counter`. */
export function emitAdvance(): CudaKernel {
  return matrixKernel({
    name: 'advance counter',
    entry: 'advance_counter',
    threads: 1,
    geometry: () => ({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }),
    params: [pointer('counter', 'int32', 'readwrite'), int64('step')],
    body: 'counter[0] += (int)step;',
  });
}
