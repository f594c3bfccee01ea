import type { CpuLimits } from '../../../device-limits.js';
import { lanesOf, vectorUnit } from '../../../emit/cpu-vector.js';
import { columnBlocks } from '../column-blocks.js';
import { BLOCK_ROWS, type CpuPairTilePlan } from '../plan-types.js';
import type { PairTileShape } from '../shape.js';

/** So that cores that end early find more, where the reduced rows are split. */
const TASKS_PER_CORE = 4;
const MOST_SPLITS = 64;
/** Bytes of kept rows that a task may copy. */
const MOST_PACKED = 1 << 22;
/** Bytes of pair values that a tile may hold, and its rows. */
const MOST_STAGED = 16384;
const [LEAST_TILE, MOST_TILE] = [8, 64];

/** The cut for a CPU: sums in half of the registers, pair values in the first cache, accumulators in the second. */
export function chooseCpuPairTile(
  shape: PairTileShape,
  { level, cores, l2Bytes }: CpuLimits,
): Pick<
  CpuPairTilePlan,
  'keptVectors' | 'reducedAtOnce' | 'tile' | 'blocks' | 'packed' | 'splits'
> {
  const { dtype, formula, own, accumulators, sums, sizes, keptRows } = shape;
  const { bytes, registers } = vectorUnit(level);
  const vectors = Math.max(1, Math.ceil(keptRows / lanesOf(level, dtype)));
  const fits = (keptVectors: number): boolean => own * keptVectors * bytes <= MOST_PACKED;
  const most = Math.min(Math.ceil(vectors / cores), registers === 32 ? 4 : 2);
  const keptVectors = [4, 2].find((g) => g <= most && fits(g)) ?? 1;
  const rows = Math.floor(registers / 2 / keptVectors / Math.max(1, sums));
  const staged = MOST_STAGED / (Math.max(1, formula.pair) * keptVectors * bytes);
  // the accumulators of a task, in parts and in all, fill half of the second cache, unless that many tasks would take longer for the
  // inner sums of pairs, which each computes again, than for the columns
  const all = columnBlocks(shape);
  const fitting = Math.ceil((all * 2 * accumulators * keptVectors * bytes) / (l2Bytes / 2));
  const terms = sizes.reduce((sum, size) => sum + size, 0);
  const affordable = Math.ceil(formula.columns / Math.max(1, terms));
  const tasks = Math.max(Math.min(fitting, affordable), Math.min(all, Math.ceil(cores / vectors)));
  const wanted = vectors < cores ? (TASKS_PER_CORE * cores) / vectors : 1;
  const parts = Math.min(MOST_SPLITS, wanted, shape.reducedRows / (2 * BLOCK_ROWS));
  const isSplit = formula.columns === 1 && shape.mergeable && parts >= 2;
  return {
    keptVectors,
    packed: fits(keptVectors),
    blocks: Math.ceil(all / tasks),
    splits: isSplit ? 2 ** Math.floor(Math.log2(parts)) : 1,
    reducedAtOnce: sums === 0 ? 1 : Math.max(1, Math.min(8, rows)),
    tile: Math.max(LEAST_TILE, Math.min(MOST_TILE, 2 ** Math.floor(Math.log2(staged)))),
  };
}
