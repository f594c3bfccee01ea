import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { matrixKernel } from './matrix-kernel.js';

const THREADS = 256;

/**
 * infos[z] becomes codes[z], what a library said, where it was 0. Positive codes count as `failure` where that is not 0.
 *
 * Scalars: failure, count (of matrices).
 */
export function emitMergeCodes(): CudaKernel {
  return matrixKernel({
    name: 'merge codes',
    entry: 'merge_codes',
    threads: THREADS,
    grid: ({ count = 0 }) => Math.ceil(count / THREADS),
    params: [
      pointer('infos', 'int32', 'readwrite'),
      pointer('codes', 'int32', 'read'),
      int64('failure'),
      int64('count'),
    ],
    body: lines(
      `const i64 z = (i64)blockIdx.x * ${THREADS} + threadIdx.x;`,
      'if (z >= count || infos[z] != 0) return;',
      'const int code = codes[z];',
      'infos[z] = code > 0 && failure != 0 ? (int)failure : code;',
    ),
  });
}
