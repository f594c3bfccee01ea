import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, matrixKernel, pointer } from './matrix-kernel.js';

const THREADS = 256;

/**
 * Adds float32 corrections to float64 numbers: to[i] += from[i].
 *
 * Scalars: elements.
 */
export function emitAddCorrections(): CudaKernel {
  return matrixKernel({
    name: 'add corrections',
    entry: 'add_corrections',
    threads: THREADS,
    geometry: ({ elements = 0 }) => ({
      grid: [Math.ceil(elements / THREADS), 1, 1],
      block: [THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
    params: [
      pointer('from', 'float32', 'read'),
      pointer('to', 'float64', 'readwrite'),
      int64('elements'),
    ],
    body: lines(
      `const i64 at = (i64)blockIdx.x * ${THREADS} + threadIdx.x;`,
      'if (at < elements) to[at] += from[at];',
    ),
  });
}
