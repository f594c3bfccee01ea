import { finish, traitsOf, unrolledSize, type Reduction } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { scheduleCosts, type ScheduleCosts } from './choose-schedule.js';
import { rootsOf } from './lowering/written-out.js';
import { aloneOf, planSums } from './plan-sums.js';
import { wholeProblem, type MapReduceProblem } from './problem.js';

/** What tiles of several reductions compute at most, of what tiles of each compute together: those have more pairs a thread. */
const MOST_SHARED = 3 / 4;
/** Columns that a block of threads of a GPU has at once: pairs are computed again for the next (docs/lab/one-loop-nest.md). */
const MOST_COLUMNS = 128;

/**
 * Whether the reductions of a problem are best computed by one kernel: with a row per thread (`chooseSchedule`), or in tiles that are
 * predicted to take no longer than a pass for each, where the formulas share a part of their work. So it is on the interpreter.
 *
 * Throws a `PlanError` for unusual sums of what is no sum, as `planMapReduce` does.
 *
 * ```ts
 * import { ops, reduction, vi, vj } from '@mercer/formula';
 * import { takesOnePass } from '@mercer/kernels';
 * const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 } as const;
 * const both = (other: number) => {
 *   const sum = reduction('Sum', ops.sqDist(vi(0, 100), vj(1, 100)));
 *   const least = reduction('Min', ops.sqDist(vi(other, 100), vj(other + 1, 100)));
 *   return { reduction: sum, further: [least], dtype: 'float32', rowsI: 9, rowsJ: 9, batch: 1 } as const;
 * };
 * console.log(takesOnePass(both(0), limits), takesOnePass(both(2), limits)); // true false
 * ```
 */
export function takesOnePass(given: MapReduceProblem, limits: DeviceLimits): boolean {
  const problem = wholeProblem(given);
  const { reduction, further = [], ...rest } = problem;
  if (further.length === 0) return true;
  planSums(problem);
  const costs = finish(scheduleCosts(problem, limits));
  if (costs['row per thread'] <= costs['pair tile']) return true;
  const all = [reduction, ...further];
  if (limits.kind === 'cuda' && all.some(isSlowBeside)) return false;
  const apart = all.map((one) =>
    leastOf(finish(scheduleCosts({ ...aloneOf(rest, one), reduction: one }, limits))),
  );
  const sizes = all.map((one) => unrolledSize(...rootsOf(one)));
  return (
    leastOf(costs) <= sumOf(apart) &&
    unrolledSize(...all.flatMap(rootsOf)) <= MOST_SHARED * sumOf(sizes)
  );
}

const leastOf = (costs: ScheduleCosts): number => Math.min(...Object.values(costs));

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** A list of the K best alone is spread over the threads of a row; beside a tile every thread has one. */
const isSlowBeside = ({ kind, formula, weight }: Reduction): boolean =>
  traitsOf(kind).takesK || Math.max(formula.dim, weight?.dim ?? 0) > MOST_COLUMNS;
