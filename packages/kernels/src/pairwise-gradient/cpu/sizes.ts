import type { CpuLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import type { GradientWorkload } from '../gradient-problem.js';

/** Sizes of the host kernel, in elements. */
export interface CpuGradientSizes {
  readonly cores: number;
  /** Vectors side by side in the first phase's register tile, and steps of k in the second's. */
  readonly tileVectors: number;
  readonly tileSteps: number;
  /** Rows of one task (not in the text), columns of one tile, steps of k that are packed at once. */
  readonly blockRows: number;
  readonly blockColumns: number;
  readonly blockDepth: number;
  readonly parts: number;
}

/** Rows of a register tile. */
export const CPU_TILE_ROWS = 4;
/** Rows of a task at most, for which there is scratch memory. */
export const CPU_MOST_ROWS = 32;
const TASKS_PER_CORE = 4;
/** Expressions of more operations are bound by arithmetic: one vector at a time is as fast. */
const CHEAP_OPS = 10;
const LANES_PER_BLOCK = 16;

/** Chooses sizes for a workload; they are right for all sizes. */
export function chooseCpuSizes(
  { problem, ops }: GradientWorkload,
  limits: CpuLimits,
): CpuGradientSizes {
  const { m, n, batch, dtype } = problem;
  const lanes = lanesOf(limits.level, dtype);
  const tileVectors = ops <= CHEAP_OPS ? 2 : 1;
  // A tile's sums are added up across lanes once per k: with many vectors a tile that costs little.
  const blockColumns = Math.max(LANES_PER_BLOCK * lanes, 128);
  const wanted = TASKS_PER_CORE * limits.cores;
  let blockRows = CPU_MOST_ROWS;
  const tasks = (): number => Math.ceil(m / blockRows) * batch;
  while (blockRows > CPU_TILE_ROWS && (blockRows >= 2 * m || tasks() < wanted)) blockRows /= 2;
  let parts = 1;
  while (tasks() * parts < wanted && parts * 2 * blockColumns <= n) parts *= 2;
  const blockDepth = dtype === 'float32' ? 128 : 64;
  return {
    cores: limits.cores,
    tileVectors,
    tileSteps: tileVectors,
    blockRows,
    blockColumns,
    blockDepth,
    parts,
  };
}
