import type { CudaGeometry, CudaKernel } from '../../emitted-kernel.js';
import { launchBound } from './translate-source.test-support.js';

const MOST_SHARED = 232448;
const MOST_GRID = [2 ** 31 - 1, 65535, 65535];

/** Throws where a launch of this geometry would fail on a GPU. */
export function checkGeometry(kernel: CudaKernel, geometry: CudaGeometry): void {
  const { grid, block, sharedMemBytes } = geometry;
  const threads = block[0] * block[1] * block[2];
  const bound = launchBound(kernel.source) ?? 1024;
  const isWhole = [...grid, ...block].every((n) => Number.isInteger(n) && n >= 1);
  const fits =
    grid.every((n, i) => n <= (MOST_GRID[i] as number)) &&
    threads <= bound &&
    sharedMemBytes <= MOST_SHARED;
  if (!isWhole || !fits) {
    throw new RangeError(
      `kernel ${kernel.entry}: cannot launch a grid of ${grid.join(' x ')} blocks of ${block.join(' x ')} threads ` +
        `with ${sharedMemBytes} bytes of shared memory; its launch bound is ${bound} threads.`,
    );
  }
  if (geometry.cluster !== undefined) throw new RangeError('the emulator has no clusters');
}
