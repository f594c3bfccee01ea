import type { CudaLimits } from '../../../device-limits.js';
import { dtypeBytes } from '../../../dtype.js';
import { PlanError } from '../../../plan-error.js';
import { CUDA_SPLITS } from '../../cuda/choose-tile.js';
import { columnThreads } from './column-threads.js';
import { entriesOfThread } from './row-lists.js';
import { LONGEST_RUN } from '../tile-text.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';
import { stagedLoads, type PairTileShape } from '../shape.js';

type PairTileCut = Pick<
  CudaPairTilePlan,
  'keptPerThread' | 'reducedPerThread' | 'tile' | 'steps' | 'splits'
>;

const COUNTS = [8, 4, 2, 1] as const;
const BLOCKS_PER_MULTIPROCESSOR = 2;
/** 32-bit registers of a thread for running results, for the inner sums of its pairs, and for those of one kept row beside columns. */
const STATE_REGISTERS = { oneColumn: 12, columns: { float32: 32, float64: 24 } } as const;
const PAIR_REGISTERS = 64;
const ADDRESS_WORDS = 2;
const LIST_REGISTERS = 8;
const SUM_REGISTERS = 4;
/** Bytes of shared memory, and of those for pair values beside columns, or for running results that threads hand over. */
const SHARED_BYTES = 47104;
const STAGED_BYTES = { columns: 32768, oneColumn: 24576 } as const;
/** Components that a row of threads fetches at a time, in bytes. */
const FETCHED_BYTES = 512;
const VECTOR_BYTES = 16;
/**
 * What a part costs a thread for each number of a running result, in operations: what threads hand over, and the merging;
 * a list of the K best begins anew.
 */
const PART_COST = { plain: 400, ranked: 250 } as const;
/** Parts of the reduced rows of columns at most, reduced rows of one at least, and what one costs, in reduced rows. */
const MOST_COLUMN_PARTS = 8;
const SHORTEST_COLUMN_PART = 256;
const COLUMN_PART_COST = 32;
/** What a thread of columns reads of a reduced row, in kept rows that it adds the row to. */
const REDUCED_ROW_COST = 0.5;
/** What a row of a thread costs for a step of an inner sum, in operations on a pair. */
const ROW_COST = 1.25;

/** Bytes of running results that half of the threads of a block pass on in a step of the block reduction. */
const pairReductionBytes = (words: number, bytes: number): number =>
  ((CUDA_SIDE * CUDA_SIDE) / 2) * words * bytes;

/** Bytes of shared memory with which threads hand over running results of one column. */
const handedOver = (words: number, bytes: number): number =>
  Math.min(STAGED_BYTES.oneColumn, pairReductionBytes(words, bytes));

/** Whether half of the threads can pass on their results at once. */
export const reducesInPairs = (words: number, bytes: number): boolean =>
  pairReductionBytes(words, bytes) <= STAGED_BYTES.oneColumn;

/** The cut for a GPU. Throws a `PlanError` where a pair of rows has more values than shared memory takes. */
export function chooseCudaPairTile(shape: PairTileShape, limits: CudaLimits): PairTileCut {
  const { dtype, formula, accumulators } = shape;
  const bytes = dtypeBytes(dtype);
  const hasOneColumn = formula.columns === 1;
  const cut = hasOneColumn ? oneColumnCut(shape, limits) : columnsCut(shape, limits);
  const { keptPerThread, reducedPerThread: rows } = cut;
  const side = CUDA_SIDE * bytes;
  const pairBytes = Math.max(1, formula.pair) * side * keptPerThread;
  const staged = hasOneColumn ? Infinity : STAGED_BYTES.columns / pairBytes;
  if (staged < 1 || (hasOneColumn && accumulators * side > STAGED_BYTES.oneColumn)) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a map-reduce: a pair of rows has ${formula.pair} values and a running result ${accumulators} numbers, ` +
        `more than a GPU's shared memory takes. Split the formula into several, or ask for fewer extrema (K).`,
    );
  }
  const tile = 2 ** Math.floor(Math.log2(Math.min(CUDA_SIDE * rows, staged)));
  const free = SHARED_BYTES - (hasOneColumn ? handedOver(accumulators, bytes) : tile * pairBytes);
  return { ...cut, tile, steps: stepsOf(shape, cut, free) };
}

/** One column: the tile of pairs and the parts that keep multiprocessors busiest. */
function oneColumnCut(
  shape: PairTileShape,
  { multiprocessors }: CudaLimits,
): Pick<PairTileCut, 'keptPerThread' | 'reducedPerThread' | 'splits'> {
  const { dtype, accumulators, sums, pairLoads, sizes, operations } = shape;
  const { ranked, keptRows, reducedRows, mergeable } = shape;
  const words = dtypeBytes(dtype) / 4;
  // a sum of runs has two running sums
  const runs = sizes.some((size) => size > LONGEST_RUN) ? 2 : 1;
  const cuts = COUNTS.flatMap((keptPerThread) =>
    COUNTS.filter(
      (rows) =>
        (keptPerThread * rows === 1 ||
          keptPerThread * rows * (Math.max(1, sums) * runs * words + ADDRESS_WORDS * pairLoads) <=
            PAIR_REGISTERS) &&
        (ranked
          ? keptPerThread === 1 ||
            keptPerThread * 2 * entriesOfThread(accumulators / 2) * words <= LIST_REGISTERS
          : keptPerThread === 1 ||
            keptPerThread * accumulators * words <= STATE_REGISTERS.oneColumn),
    ).flatMap((rows) => {
      const blocks = Math.max(1, Math.ceil(keptRows / (CUDA_SIDE * keptPerThread)));
      const piece = CUDA_SIDE * rows;
      return CUDA_SPLITS.filter(
        (splits) => splits === 1 || (mergeable && reducedRows > (splits - 1) * piece),
      ).map((splits) => {
        // equal blocks end together: the device takes them in waves
        const waves = (blocks * splits) / (multiprocessors * BLOCKS_PER_MULTIPROCESSOR);
        const busy = waves / Math.ceil(waves);
        const pieces = Math.ceil(reducedRows / piece / splits);
        const pairs = pieces * rows * operations * (1 + ROW_COST * (1 / keptPerThread + 1 / rows));
        const work =
          blocks *
          splits *
          keptPerThread *
          (pairs + PART_COST[ranked ? 'ranked' : 'plain'] * accumulators);
        return { keptPerThread, rows, splits, cost: work / busy };
      });
    }),
  );
  const { keptPerThread, rows, splits } = cuts.reduce((best, cut) =>
    cut.cost < best.cost * 0.99 ? cut : best,
  );
  return { keptPerThread, reducedPerThread: rows, splits };
}

/** Many columns: so many kept rows a thread and parts that equal blocks fill whole waves, and all multiprocessors have some. */
function columnsCut(
  shape: PairTileShape,
  { multiprocessors }: CudaLimits,
): Pick<PairTileCut, 'keptPerThread' | 'reducedPerThread' | 'splits'> {
  const { dtype, columns, accumulators, sums, keptRows, reducedRows, mergeable, ranked } = shape;
  const words = dtypeBytes(dtype) / 4;
  const few = COUNTS.filter((count) => count <= 4);
  const fits = few.filter(
    (g) => g === 1 || g * accumulators * words <= STATE_REGISTERS.columns[dtype],
  );
  const strips = columnThreads({ columns }) / CUDA_SIDE;
  const cuts = fits.flatMap((keptPerThread) => {
    const blocks = Math.max(1, Math.ceil(keptRows / (CUDA_SIDE * keptPerThread)) * strips);
    return CUDA_SPLITS.filter(
      (splits) =>
        splits === 1 ||
        (mergeable &&
          !ranked &&
          splits <= MOST_COLUMN_PARTS &&
          reducedRows >= splits * SHORTEST_COLUMN_PART),
    ).map((splits) => {
      const waves = Math.ceil((blocks * splits) / (multiprocessors * BLOCKS_PER_MULTIPROCESSOR));
      const rows = reducedRows / splits + COLUMN_PART_COST;
      return { keptPerThread, splits, cost: waves * rows * (keptPerThread + REDUCED_ROW_COST) };
    });
  });
  const { keptPerThread, splits } = cuts.reduce((best, cut) =>
    cut.cost < best.cost * 0.97 ? cut : best,
  );
  const rows = sums === 0 ? 1 : (few.find((r) => r * sums * words <= SUM_REGISTERS) ?? 1);
  return { keptPerThread, reducedPerThread: rows, splits };
}

/** Steps that are copied at a time: what `free` bytes of shared memory, where every loop has copies of its own, and the registers for copies take. */
function stepsOf(
  { dtype, formula }: PairTileShape,
  {
    keptPerThread,
    reducedPerThread: rows,
  }: Pick<PairTileCut, 'keptPerThread' | 'reducedPerThread'>,
  free: number,
): number {
  const bytes = dtypeBytes(dtype);
  const loads = stagedLoads(formula);
  const [all, busiest] = [loads.reduce((sum, one) => sum + one, 0), Math.max(0, ...loads)];
  if (all === 0) return 0;
  const most = Math.max(keptPerThread, rows);
  const stepBytes = 2 * all * (CUDA_SIDE * most + VECTOR_BYTES / bytes) * bytes;
  const fits = (steps: number): boolean =>
    steps * stepBytes <= free &&
    (busiest / 2) * (keptPerThread + rows) * steps * bytes <= FETCHED_BYTES;
  return [16, 8, 4, 2, 1].find(fits) ?? 0;
}
