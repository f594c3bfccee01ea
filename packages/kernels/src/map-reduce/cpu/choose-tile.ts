import { isInterpreted, type CpuLimits } from '../../device-limits.js';
import { lanesOf, vectorUnit } from '../../emit/cpu-vector.js';
import type { CpuTile } from '../plan-types.js';
import { tileOf, type MapReduceShape } from '../map-reduce-shape.js';

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
  const interpreted = isInterpreted(limits);
  const lanes = lanesOf(limits.level, shape.dtype);
  const vectors = Math.ceil(shape.rows / lanes / limits.cores);
  const bins = shape.bins ?? 0;
  const groups = bins > 0 ? 1 : MOST_GROUPS;
  const most = interpreted ? TILE_BYTES / vectorUnit(limits.level).bytes : groups;
  const keptVectors = Math.max(1, Math.min(most, vectors));
  const tile = tileOf(shape, limits.l1Bytes / 2, LONGEST_TILE);
  const whole = Math.max(1, Math.ceil(shape.rows / lanes));
  const idle = whole < limits.cores && !interpreted;
  const splits = idle
    ? splitsOf(shape, Math.max(tile, bins), (TASKS_PER_CORE * limits.cores) / whole)
    : 1;
  const text = [
    `${keptVectors} vectors of ${lanes} rows`,
    `tiles of ${tile}`,
    ...(splits > 1 ? [`${splits} parts`] : []),
  ].join(', ');
  return { keptVectors, tile, splits, text, interpreted: interpreted ? true : undefined };
}

/** Parts of the reduced rows, of two tiles at least, and of twice as many rows as there are components to merge. */
function splitsOf(
  { mergeable, whole, terms }: MapReduceShape,
  tile: number,
  wanted: number,
): number {
  const parts = Math.min(MOST_SPLITS, wanted, terms / (2 * tile));
  return mergeable && !whole && parts >= 2 ? 2 ** Math.floor(Math.log2(parts)) : 1;
}
