import { lines } from '../emit/text.js';
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
