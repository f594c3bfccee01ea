import { lines } from '../emit/text.js';

/** Threads of a block that reduces one matrix or column. */
export const REDUCE_THREADS = 256;

const WARPS = REDUCE_THREADS / 32;

/** Text that declares the shared memory that `total` and `largest` want. */
export const REDUCE_SHARED = `__shared__ double parts[${WARPS}];`;

function reduction(name: string, combine: string, start: string): string {
  return lines(
    `__device__ inline double ${name}(double x, double* parts) {`,
    '  for (int step = 16; step > 0; step /= 2) {',
    '    const double y = __shfl_xor_sync(0xffffffffu, x, step);',
    `    x = ${combine};`,
    '  }',
    '  __syncthreads();',
    '  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;',
    '  __syncthreads();',
    `  x = ${start};`,
    `  for (int i = 0; i < ${WARPS}; ++i) {`,
    '    const double y = parts[i];',
    `    x = ${combine};`,
    '  }',
    '  return x;',
    '}',
  );
}

/** `total(x, parts)`: the sum over the block, in every thread. */
export const TOTAL_FUNCTION = reduction('total', 'x + y', '0');

/** `largest(x, parts)`: the maximum of numbers that are not negative, NaN if one is. */
export const LARGEST_FUNCTION = reduction('largest', '!(x >= y) && x == x ? y : x', '0');
