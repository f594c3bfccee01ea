import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { matrixKernel } from '../matrix/matrix-kernel.js';

const WARP = 32;

/**
 * Says whether captured work that a device repeats by itself is done once more: as long as some are left, and one of `count` numbers is 0. Of no numbers only those that are left
 * count. The device's function for it is the driver's, which takes it for a kernel behind each repetition; it needs no library.
 *
 * Scalars: `decision`, the driver's name of the decision, which it writes itself; `count`.
 */
export function emitRepeats(): CudaKernel {
  return matrixKernel({
    name: 'repeats',
    entry: 'repeats',
    params: [
      int64('decision'),
      pointer('rests', 'float64', 'read'),
      pointer('left', 'int32', 'write'),
      int64('count'),
    ],
    functions:
      'extern "C" __device__ void cudaGraphSetConditional(unsigned long long decision, unsigned int value);',
    threads: WARP,
    body: lines(
      'bool rest = count > 0;',
      `for (i64 i = threadIdx.x; i < count; i += ${WARP}) rest = rest && rests[i] != 0.0;`,
      'rest = __all_sync(0xffffffffu, rest);',
      'if (threadIdx.x == 0) {',
      '  left[0] -= 1;',
      '  cudaGraphSetConditional((unsigned long long)decision, !rest && left[0] > 0 ? 1u : 0u);',
      '}',
    ),
    grid: () => 1,
  });
}
