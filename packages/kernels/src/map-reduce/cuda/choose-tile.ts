import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { chooseSlices } from './slices.js';
import { stagedWidth } from './staged-row.js';
import type { CudaTile } from '../plan-types.js';
import { tileOf, type MapReduceShape } from '../map-reduce-shape.js';

/** Threads of a block on a GPU, and of a warp. */
const [CUDA_THREADS, WARP] = [128, 32];
/** Blocks of a multiprocessor at least: said so that the assembler spills nothing to fit more of them. */
const LEAST_BLOCKS = 4;
/** The same of blocks of a warp, whose spans take registers too. */
const LEAST_WARPS = 8;
/** A part of the reduced rows is a multiple of so many. */
export const PART_UNIT = 16;

/** 32-bit registers of a thread for the rows that it keeps and their results. */
const ROW_REGISTERS = { float32: 100, float64: 48 } as const;
/**
 * Instructions that are written out at once at most: more fill the cache of instructions. Rows for lists of the K best are worth
 * more: threads wait for each other once for all of them.
 */
const UNROLLED_OPERATIONS = { plain: 880, ranked: 1760 } as const;
const UNROLLED_ROWS = { plain: [8, 4], ranked: [16, 8, 4] } as const;
const SHARED_BYTES = 16384;
const CUDA_TILE = 128;
/** Shared memory beside values of pairs, and reduced rows of a tile of them. */
const PAIR_BYTES = 40960;
const PAIR_TILES = [32, 16, 8, 4] as const;
/**
 * Blocks of a multiprocessor that run at a time, and how many it takes to keep its units from waiting. Lists beside longer rows
 * take more registers.
 */
const OCCUPATION = {
  plain: { resident: 8, least: 2 },
  ranked: { resident: 6, least: 3.5 },
  rankedLong: { resident: 5, least: 3.5 },
} as const;
const SHORT_ROW = 10;
/** Reduced rows of a part at least. */
const SHORTEST_PART = 128;
/**
 * What a vector from shared memory costs, in operations, and a part for each number of its running result, in reduced
 * rows: a list of the K best begins anew in each.
 */
const LOAD_COST = 2;
const PART_COST = { plain: 8, ranked: 20 } as const;

/** The cut for a GPU: slices for few pairs, else rows of a thread and parts. */
export function chooseCudaTile(
  shape: MapReduceShape,
  limits: CudaLimits,
): CudaTile & { readonly text: string } {
  const { dtype, ranked, instructions } = shape;
  const kind = ranked ? 'ranked' : 'plain';
  // the values of pairs of a block's kept rows are copied for all its threads
  const sliced = shape.pairs > 0 ? undefined : chooseSlices(shape, limits);
  const cut =
    sliced === undefined
      ? { ...blockOf(shape), slices: 1, ...chooseParts(shape, limits) }
      : { rowsPerThread: 1 as const, splits: 1, resident: 1, ...sliced };
  const { rowsPerThread, threads, slices, tile, splits } = cut;
  const most = UNROLLED_OPERATIONS[kind] / (instructions * rowsPerThread);
  const unroll = ([4, 2] as const).find((count) => count <= most) ?? 1;
  const counts: readonly number[] = UNROLLED_ROWS[kind];
  const unrolledRows = dtype === 'float32' ? (counts.find((count) => count <= most) ?? 4) : 4;
  const text = [
    `${rowsPerThread} rows a thread`,
    `tiles of ${tile}`,
    ...(cut.pairs === undefined ? [] : [`pairs ${cut.pairs}`]),
    ...(slices > 1 ? [`${slices} slices`] : []),
    ...(threads === CUDA_THREADS && slices === 1 ? [] : [`${threads} threads`]),
    ...(splits > 1 ? [`${splits} parts`] : []),
  ].join(', ');
  return { ...cut, unroll, unrolledRows, text };
}

/** Threads of a block: a warp where ranges have few rows, so that none of its threads is without one. */
function blockOf({ blockRows, pairs }: MapReduceShape): Pick<CudaTile, 'threads' | 'resident'> {
  return blockRows === undefined || pairs > 0
    ? { threads: CUDA_THREADS, resident: LEAST_BLOCKS }
    : { threads: WARP, resident: LEAST_WARPS };
}

/** Of the cuts that registers allow the one that keeps multiprocessors busiest. */
function chooseParts(
  shape: MapReduceShape,
  { multiprocessors }: CudaLimits,
): Pick<CudaTile, 'rowsPerThread' | 'tile' | 'splits' | 'pairs'> {
  const { dtype, own, accumulators, ranked, other, operations, rows, batch, terms } = shape;
  const { mergeable, whole } = shape;
  const { threads } = blockOf(shape);
  const most = shape.blockRows === undefined ? Infinity : shape.blockRows / threads;
  const kind = ranked ? 'ranked' : 'plain';
  const words = (own + accumulators) * (dtypeBytes(dtype) / 4);
  const width = stagedWidth(other, dtype);
  const pairRows = stagedPairs(shape);
  const tile = pairRows ?? tileOf({ dtype, other: width }, SHARED_BYTES, CUDA_TILE);
  const vectors = (width * dtypeBytes(dtype)) / 16;
  // a range may have few rows, and threads wait for each other where one has a new row for its list
  const isSingle = ranked || shape.pairs > 0;
  const rowCounts = isSingle
    ? ([1] as const)
    : mergeable || most < Infinity
      ? ([4, 2, 1] as const)
      : ([2, 1] as const);
  const cuts = rowCounts
    .filter(
      (count) =>
        count === 1 ||
        (count <= most &&
          count * words <= ROW_REGISTERS[dtype] &&
          count * operations <= UNROLLED_OPERATIONS[kind]),
    )
    .flatMap((rowsPerThread) => {
      const blocks = batch * Math.ceil(rows / batch / (threads * rowsPerThread));
      const useful = rows / (blocks * threads * rowsPerThread);
      const pair = operations + (vectors * LOAD_COST) / rowsPerThread;
      return CUDA_SPLITS.filter(
        (splits) => splits === 1 || (mergeable && !whole && terms >= splits * SHORTEST_PART),
      ).map((splits) => {
        const busy = ranked
          ? waveEfficiency(blocks * splits, {
              multiprocessors,
              ...OCCUPATION[own > SHORT_ROW ? 'rankedLong' : 'ranked'],
            })
          : splitEfficiency((blocks * splits * threads) / CUDA_THREADS, {
              multiprocessors,
              ...OCCUPATION[kind],
            });
        const work = (terms + (splits > 1 ? splits * PART_COST[kind] * accumulators : 0)) * pair;
        return { rowsPerThread, splits, cost: work / (busy * useful) };
      });
    });
  const { rowsPerThread, splits } = cuts.reduce((best, cut) =>
    cut.cost < best.cost * 0.99 ? cut : best,
  );
  if (shape.pairs === 0) return { rowsPerThread, tile, splits };
  return { rowsPerThread, tile, splits, pairs: pairRows === undefined ? 'direct' : 'staged' };
}

/** Reduced rows whose values of pairs fit into shared memory beside their own components, undefined where there are none or too many. */
function stagedPairs({ dtype, pairs, other }: MapReduceShape): number | undefined {
  if (pairs === 0) return undefined;
  const numbers = PAIR_BYTES / dtypeBytes(dtype);
  // a number between the rows of each input, of which there are at most as many as components
  const room = (rows: number): number =>
    CUDA_THREADS * (rows + 1) * pairs + rows * stagedWidth(other, dtype);
  return PAIR_TILES.find((rows) => room(rows) <= numbers);
}

/** Into how many parts the reduced rows may be cut on a GPU: few different numbers, as each has a kernel of its own. */
export const CUDA_SPLITS: readonly number[] = [
  1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64,
];

/** How blocks meet a device. */
interface Occupation {
  readonly multiprocessors: number;
  /** Blocks of a multiprocessor that run at a time. */
  readonly resident: number;
  /** Blocks that it takes to keep the units of a multiprocessor at work. */
  readonly least: number;
}

/**
 * The share of the device that `blocks` equal blocks keep at work. Where all run at once the busiest multiprocessor
 * decides, and fewer than `least` leave its units waiting; where some wait, the last ones end half a block late.
 */
function splitEfficiency(blocks: number, { multiprocessors, resident, least }: Occupation): number {
  const even = blocks / multiprocessors;
  if (even <= 1) return even / least;
  const most = even > resident ? 0 : Math.ceil(even);
  return even / Math.max(most, even + 0.5, least);
}

/** The same where blocks end together: those that run at a time make waves. */
function waveEfficiency(blocks: number, { multiprocessors, resident, least }: Occupation): number {
  const even = blocks / multiprocessors;
  const waves = Math.ceil(even / resident);
  return even / (waves > 1 ? waves * resident : Math.max(Math.ceil(even), least));
}
