import type { CpuLimits, CudaLimits } from '../device-limits.js';
import { dtypeBytes } from '../dtype.js';
import { lanesOf, vectorUnit } from '../emit/cpu-vector.js';
import type { PairwiseDType } from '../pairwise/problem.js';

/** What decides how the rows are cut. */
export interface MapReduceShape {
  readonly dtype: PairwiseDType;
  /** Members of a running result. */
  readonly slots: number;
  readonly operations: number;
  /** Components of the inputs of the kept side, and of the reduced side. */
  readonly own: number;
  readonly other: number;
  /** Kept rows of all batch entries, and rows that each reduces. */
  readonly rows: number;
  readonly terms: number;
  /** Whether the reduced rows may be seen in parts. */
  readonly mergeable: boolean;
}

/** How a CPU cuts the rows. */
export interface CpuTile {
  /** Vectors of kept rows of a task. */
  readonly groups: number;
  /** Reduced rows between two merges, and that stay in the cache for all groups. */
  readonly tile: number;
  /** Parts of the reduced rows, each of another task; above 1 a second step merges them. */
  readonly splits: number;
  /** The kernel is a program alone, without text for a compiler. */
  readonly interpreted?: true;
}

/** How a GPU cuts the rows. */
export interface CudaTile {
  /** Kept rows of a thread. */
  readonly rowsPerThread: 1 | 2 | 4;
  /** Reduced rows in shared memory, and between two merges. */
  readonly tile: number;
  /** Parts of the reduced rows, each of other blocks; above 1 a second step merges them. */
  readonly splits: number;
}

const MOST_GROUPS = 4;
/** The interpreter's tiles. */
const TILE_BYTES = 2048;
/** So that cores that end early find more, where the reduced rows are split. */
const TASKS_PER_CORE = 4;
/** The sums of K terms are sums of blocks of this length. */
const LONGEST_TILE = 256;
const MOST_SPLITS = 64;

/** The cut for a CPU: tasks for every core, tiles that half of the first cache holds. */
export function chooseCpuTile(
  shape: MapReduceShape,
  limits: CpuLimits,
): CpuTile & { readonly text: string } {
  const lanes = lanesOf(limits.level, shape.dtype);
  const vectors = Math.ceil(shape.rows / lanes / limits.cores);
  const most =
    limits.interpreted === true ? TILE_BYTES / vectorUnit(limits.level).bytes : MOST_GROUPS;
  const groups = Math.max(1, Math.min(most, vectors));
  const tile = tileOf(shape, limits.l1Bytes / 2, LONGEST_TILE);
  const whole = Math.max(1, Math.ceil(shape.rows / lanes));
  const idle = whole < limits.cores && limits.interpreted !== true;
  const splits = idle ? splitsOf(shape, tile, (TASKS_PER_CORE * limits.cores) / whole) : 1;
  const text = [
    `${String(groups)} groups of ${String(lanes)} rows`,
    `tiles of ${String(tile)}`,
    ...(splits > 1 ? [`${String(splits)} parts`] : []),
  ].join(', ');
  return { groups, tile, splits, text, ...(limits.interpreted === true && { interpreted: true }) };
}

/** Threads of a block on a GPU. */
export const CUDA_THREADS = 128;
/** 32-bit registers of a thread for the rows that it keeps. */
const ROW_REGISTERS = 64;
/** More operations than this on a pair are work enough for a row a thread. */
const MANY_OPERATIONS = 48;
const SHARED_BYTES = 16384;
const CUDA_TILE = 128;
const BLOCKS_PER_MULTIPROCESSOR = 4;

/** The cut for a GPU: as many rows a thread as registers allow, and blocks for every multiprocessor. */
export function chooseCudaTile(
  shape: MapReduceShape,
  { multiprocessors }: CudaLimits,
): CudaTile & { readonly text: string } {
  const words = (shape.own + 2 * shape.slots) * (dtypeBytes(shape.dtype) / 4);
  const wanted = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
  const rowsPerThread =
    ([4, 2] as const).find(
      (rows) =>
        rows * words <= ROW_REGISTERS &&
        shape.operations <= MANY_OPERATIONS &&
        shape.rows >= wanted * CUDA_THREADS * rows,
    ) ?? 1;
  const tile = tileOf(shape, SHARED_BYTES, CUDA_TILE);
  const blocks = Math.max(1, Math.ceil(shape.rows / (CUDA_THREADS * rowsPerThread)));
  const splits = splitsOf(shape, tile, wanted / blocks);
  const text = [
    `${String(rowsPerThread)} rows a thread`,
    `tiles of ${String(tile)}`,
    ...(splits > 1 ? [`${String(splits)} parts`] : []),
  ].join(', ');
  return { rowsPerThread, tile, splits, text };
}

/** Parts of the reduced rows, of two tiles at least. */
function splitsOf({ mergeable, terms }: MapReduceShape, tile: number, wanted: number): number {
  const parts = Math.min(MOST_SPLITS, wanted, terms / (2 * tile));
  return mergeable && parts >= 2 ? 2 ** Math.floor(Math.log2(parts)) : 1;
}

/** The largest power of two of rows that fits, from 16 up. */
function tileOf({ dtype, other }: MapReduceShape, bytes: number, most: number): number {
  const rows = bytes / (Math.max(1, other) * dtypeBytes(dtype));
  return Math.max(16, Math.min(most, 2 ** Math.floor(Math.log2(rows))));
}
