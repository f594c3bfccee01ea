import type { CpuLimits } from '../../device-limits.js';
import { lanesOf, vectorUnit } from '../../emit/cpu-vector.js';
import type { CpuWidePlan } from './wide-plan-types.js';
import type { WideShape } from './wide-shape.js';

/** Bytes of kept rows that a task may copy. */
const MOST_PACKED = 1 << 22;
/** Bytes of pair values that a tile may hold, and its rows. */
const MOST_HELD = 16384;
const [LEAST_TILE, MOST_TILE] = [8, 64];

/** The cut for a CPU: accumulators in registers, pair values in the first cache, running results in the second. */
export function chooseWideCpu(
  { dtype, formula, own, slots, sums, keptRows, block }: WideShape,
  { level, cores, l2Bytes }: CpuLimits,
): Pick<CpuWidePlan, 'groups' | 'rows' | 'tile' | 'blocks' | 'packed'> {
  const { bytes, registers } = vectorUnit(level);
  const vectors = Math.ceil(keptRows / lanesOf(level, dtype) / cores);
  const fits = (groups: number): boolean => own * groups * bytes <= MOST_PACKED;
  const most = Math.min(vectors, registers === 32 ? 4 : 2);
  const groups = [4, 2].find((g) => g <= most && fits(g)) ?? 1;
  const accumulators = registers / 2;
  const rows = Math.floor(accumulators / groups / Math.max(1, sums));
  const held = MOST_HELD / (Math.max(1, formula.pair) * groups * bytes);
  // the running results of a task, in parts and in all, fill half of the second cache
  const all = Math.ceil(formula.columns / block);
  const tasks = Math.ceil((all * 2 * slots * groups * bytes) / (l2Bytes / 2));
  return {
    ...{ groups, packed: fits(groups), blocks: Math.ceil(all / Math.max(1, tasks)) },
    rows: sums === 0 ? 1 : Math.max(1, Math.min(8, rows)),
    tile: Math.max(LEAST_TILE, Math.min(MOST_TILE, 2 ** Math.floor(Math.log2(held)))),
  };
}
