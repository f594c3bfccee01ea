import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { matrixKernel } from './matrix-kernel.js';

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
    grid: ({ elements = 0 }) => Math.ceil(elements / THREADS),
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
