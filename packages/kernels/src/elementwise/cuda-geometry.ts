import type { CudaGeometry } from '../emitted-kernel.js';

const THREADS = 256;
const MAX_GRID_X = 2 ** 31 - 1;
const MAX_GRID_Y = 65535;

/** Elements of a block whose threads have a pack of `lanes` elements each. */
export const linearElements = (lanes: number): number => THREADS * lanes;

/** One pack of `lanes` elements per thread. */
export const linearGeometry = (count: number, lanes: number): CudaGeometry =>
  blocksGeometry(Math.max(1, Math.ceil(count / linearElements(lanes))));

/** So many blocks in a row. */
export const blocksGeometry = (blocks: number): CudaGeometry => ({
  grid: [Math.min(blocks, MAX_GRID_X), 1, 1],
  block: [THREADS, 1, 1],
  sharedMemBytes: 0,
});

/** A thread's place in (row, x) space for `rowsGeometry`. */
export const ROW_INDEXING = `  const i64 firstRow = (i64)blockIdx.y * blockDim.y + threadIdx.y, rowStep = (i64)gridDim.y * blockDim.y;
  const i64 firstX = (i64)blockIdx.x * blockDim.x + threadIdx.x, xStep = (i64)gridDim.x * blockDim.x;`;

/** Blocks as wide as the inner extent needs, the rest of the block's 256 threads over rows. */
export function rowsGeometry(rows: number, inner: number): CudaGeometry {
  let width = 1;
  while (width < inner && width < THREADS) width *= 2;
  const height = THREADS / width;
  return {
    grid: [
      Math.min(Math.ceil(inner / width), MAX_GRID_X),
      Math.max(1, Math.min(Math.ceil(rows / height), MAX_GRID_Y)),
      1,
    ],
    block: [width, height, 1],
    sharedMemBytes: 0,
  };
}
