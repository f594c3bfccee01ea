import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { BANKS_APART } from './block.js';
import { stagedWidth } from './staged-row.js';
import { tileOf, type MapReduceShape } from '../map-reduce-shape.js';

/** How the threads of a block share its kept rows. */
export interface CudaSlices {
  readonly threads: number;
  readonly slices: number;
  readonly tile: number;
}

/**
 * Operations of a multiprocessor up to which slices are quicker than parts: these take a second launch, but stage the reduced
 * rows for more kept rows.
 */
const SLICED_WORK = 1.7e6;
const MOST_THREADS = 512;
/** Kept rows of a block: the fewest that give a multiprocessor no more than so many blocks. */
const LANES = [8, 16, 32, 64, 128];
const BLOCKS_EACH = 1.5;
/** Reduced rows of a slice at least. */
const SHORTEST_SLICE = 14;
const SHORTEST_TILE = 8;
const LONGEST_TILE = 128;
/** Shared memory that every device gives a block, and what tiles take of it at most. */
const SHARED_BYTES = 49152;
const TILE_BYTES = 32768;

/** Slices for a problem that is too small to fill the device with a thread for each kept row, or undefined. */
export function chooseSlices(
  shape: MapReduceShape,
  { multiprocessors }: CudaLimits,
): CudaSlices | undefined {
  const { dtype, ranked, operations, rows, batch, terms, mergeable, whole } = shape;
  if (ranked || !mergeable || whole) return undefined;
  const blocksEach = (lanes: number): number =>
    (batch * Math.ceil(rows / batch / lanes)) / multiprocessors;
  const lanes = LANES.find((count) => blocksEach(count) <= BLOCKS_EACH);
  if (lanes === undefined) return undefined;
  const work = lanes * terms * operations * Math.max(1, blocksEach(lanes));
  if (work > SLICED_WORK) return undefined;
  const width = stagedWidth(shape.other, dtype);
  const most = Math.min(MOST_THREADS / lanes, terms / SHORTEST_SLICE);
  for (let slices = 2 ** Math.floor(Math.log2(most)); slices > 1; slices /= 2) {
    const threads = lanes * slices;
    const states = threads * shape.stateBytes;
    const room =
      Math.min(TILE_BYTES, SHARED_BYTES - states - slices * BANKS_APART * dtypeBytes(dtype)) /
      slices;
    const tile = tileOf({ dtype, other: width }, room, LONGEST_TILE, SHORTEST_TILE);
    if (tile * width * dtypeBytes(dtype) <= room) return { threads, slices, tile };
  }
  return undefined;
}
