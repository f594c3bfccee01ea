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

/** Columns of a block where an input runs across the rows: the sectors that it brings serve the rows below too. */
export const NARROW_BLOCK = 32;

/** Threads of a block along a row: as many as the inner extent needs, up to `widest`, a power of two. */
export function rowWidth(inner: number, widest = THREADS): number {
  let width = 1;
  while (width < inner && width < widest) width *= 2;
  return width;
}

/** Elements along a row, and rows, that a thread of a segment computes. */
const EACH = 4;

/** Blocks of a segment of these extents: what {@link segmentIndexing} takes apart. */
export function stridedBlocks(extents: readonly number[], width: number): number {
  const inner = extents.at(-1) ?? 1;
  const rows = extents.slice(0, -1).reduce((product, one) => product * one, 1);
  return Math.ceil(inner / (EACH * width)) * Math.ceil((rows * width) / (EACH * THREADS));
}

/** The same as {@link ROW_INDEXING} in a segment, of `width` threads along a row, for rows of an extent. */
export const segmentIndexing = (
  extent: string,
): string => `  const u32 wide = (u32)width, thread = threadIdx.x;
  const u32 across = (u32)((${extent} + ${EACH} * width - 1) / (${EACH} * width)), height = ${THREADS} / wide;
  const i64 firstRow = (i64)((u32)block / across) * height + thread / wide, rowStep = (i64)((u32)blocks / across) * height;
  const i64 firstX = (i64)((u32)block % across) * wide + thread % wide, xStep = (i64)across * wide;`;

/** Blocks as wide as the inner extent needs, up to `widest` threads, the rest of the block's 256 over rows. */
export function rowsGeometry(rows: number, inner: number, widest = THREADS): CudaGeometry {
  const width = rowWidth(inner, widest);
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
