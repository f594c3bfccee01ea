import {
  inputsOf,
  orderSteps,
  traitsOf,
  unrolledSizeSteps,
  type Reduction,
  type Steps,
  type VectorExpr,
  finish,
  unrolledSize,
} from '@mercer/formula/plan';
import { isInterpreted, type DeviceLimits } from '../device-limits.js';
import { dtypeBytes } from '../dtype.js';
import { PlanError } from '../plan-error.js';
import { contractionIndices } from './lowering/contraction-index.js';
import { rootsOf } from './lowering/written-out.js';
import { planSums, aloneOf } from './plan-sums.js';
import { type MapReduceProblem, wholeProblem } from './problem.js';

/**
 * What a map-reduce plan writes out: every operation on every component, so that the text compiles in a fraction
 * of a second. A formula beyond it is computed by loops over components.
 */
export const MAP_REDUCE_LIMITS = Object.freeze({
  /** Scalar operations of the formula and the weight at one pair of rows (`unrolledSize`). */
  operations: 1024,
  /** Components of all inputs that follow i; the same for j, and for parameters. */
  components: 128,
  /** Numbers that a row's running result has: components of the result, times K for the K smallest. */
  results: 64,
});

/** What the text with loops may compute for a pair of rows, so that it compiles in some seconds. */
export const PAIR_TILE_LIMITS = Object.freeze({
  /** Values of parts of the formula at a component: each is an operation of the text, or a few. */
  values: 4096,
});

/** What the interpreter's programs hold: there are no loops over components, so that memory of a task grows with the formula. */
export const INTERPRETER_LIMITS = Object.freeze({
  operations: 1 << 19,
  components: 1 << 17,
  results: 1 << 15,
  /** Components of a sum of which every pair has one at most. */
  bins: 1 << 18,
});

/**
 * How the loops of a map-reduce are arranged. `row per thread`: a thread, or a lane of a vector, keeps a row in registers, and every
 * operation on every component is written out. `pair tile`: several rows of both sides at a time, and loops over components.
 */
export type Schedule = 'row per thread' | 'pair tile';

/** What a pair of rows takes, in components that are written out; infinite where there is no text. */
type ScheduleCosts = { readonly [S in Schedule]: number };

/**
 * A component in a loop over a tile: both sides' are read for several pairs, but those of rows by index for each. What unusual sums take
 * in a tile of a GPU was not measured.
 */
const STEP = { shared: 0.5, own: 1 } as const;
/**
 * What a tile takes beside its loops: they are as quick at 8 components on a CPU, at 16 with unusual sums; on a GPU at 28 words, at 40
 * beside as many columns.
 */
const TILE = { cpu: 4, cpuSums: 8, cuda: 14, columns: 20 } as const;
/** Columns that a thread of a GPU keeps in registers, and how many it takes for a tile to wait for them. */
const [MANY_COLUMNS, MOST_COLUMN_WORDS] = [16, 40];
/** Words of a result up to which a thread of a GPU keeps it in registers without loss (docs/lab/reductions-on-a-gpu.md). */
const MOST_RESULT_WORDS = 48;

/**
 * In steps, the schedule of a problem: the quicker one of those that have a text. The interpreter runs what is written out.
 * Throws a `PlanError` for what it does not hold.
 */
export function* chooseSchedule(problem: MapReduceProblem, limits: DeviceLimits): Steps<Schedule> {
  const costs = yield* scheduleCosts(problem, limits);
  return costs['row per thread'] <= costs['pair tile'] ? 'row per thread' : 'pair tile';
}

/** In steps, what each schedule of a problem is predicted to take. */
export function* scheduleCosts(
  problem: MapReduceProblem,
  limits: DeviceLimits,
): Steps<ScheduleCosts> {
  const { reduction, further = [], dtype } = problem;
  const all = [reduction, ...further];
  const size = yield* sizeOf(all);
  if (isInterpreted(limits)) {
    if (isBeyond(size, INTERPRETER_LIMITS)) throw beyondInterpreter(size);
    return { 'row per thread': 0, 'pair tile': Infinity };
  }
  const roots = all.flatMap(rootsOf);
  const nodes = yield* orderSteps<VectorExpr>(roots);
  const terms = nodes.reduce((most, node) => Math.max(most, termsOf(node)), 0);
  const columns = Math.max(...roots.map(({ dim }) => dim));
  const words = dtypeBytes(dtype) / 4;
  const isUnusual = planSums(problem) !== undefined;
  const isCpu = limits.kind === 'cpu';
  const [length, start] = isCpu
    ? [Math.max(terms, columns), isUnusual ? TILE.cpuSums : TILE.cpu]
    : [terms * words, keepsColumns(all, columns, words) ? TILE.columns : TILE.cuda];
  const isOwn = nodes.some(({ kind }) => kind === 'gather') || (isUnusual && !isCpu);
  const step = isOwn ? STEP.own : STEP.shared;
  const isLong = !isCpu && !isOwn && columns * words > MOST_RESULT_WORDS;
  return {
    'row per thread': isBeyond(size, MAP_REDUCE_LIMITS)
      ? Infinity
      : length + (isLong ? columns * words : 0),
    'pair tile': start + step * length,
  };
}

/** Whether a thread of a GPU adds up all of many columns at once, which the threads of a tile wait for. */
const keepsColumns = (all: readonly Reduction[], columns: number, words: number): boolean =>
  columns >= MANY_COLUMNS &&
  columns * words <= MOST_COLUMN_WORDS &&
  all.every(({ kind, weight }) => weight === undefined && !traitsOf(kind).takesK);

type Size = { readonly [K in keyof typeof MAP_REDUCE_LIMITS]: number };

const isBeyond = (size: Size, limits: Size): boolean =>
  size.operations > limits.operations ||
  size.components > limits.components ||
  size.results > limits.results;

/** Operations of a pair, components of the side with the most, and numbers that a row's results take. */
function* sizeOf(all: readonly Reduction[]): Steps<Size> {
  const roots = all.flatMap(rootsOf);
  const dims = { i: 0, j: 0, pair: 0, parameter: 0 };
  for (const { category, dim } of inputsOf(...roots)) dims[category] += dim;
  // beside the results of a weight there are the largest value and a sum of ones
  const numbers = all.map(({ formula, weight, k = 1 }) =>
    Math.max(formula.dim * k, (weight?.dim ?? 0) + 2),
  );
  return {
    operations: yield* unrolledSizeSteps(roots),
    components: Math.max(...Object.values(dims)),
    results: numbers.reduce((sum, one) => sum + one),
  };
}

function beyondInterpreter(size: Size): PlanError {
  const { operations, components, results } = INTERPRETER_LIMITS;
  return new PlanError(
    'LIMIT',
    `cannot plan a map-reduce: the interpreter of CPU kernels takes ${operations} operations of a pair, ` +
      `${components} components of all inputs of i, of j and of parameters, and ${results} numbers of a result. ` +
      `The formula takes ${size.operations} operations, ${size.components} components and ${size.results} numbers. ` +
      'Compute parts of it first and pass them as inputs, or shorten the vectors.',
  );
}

/** Values that a node combines into one. */
function termsOf(node: VectorExpr): number {
  if (node.kind === 'components') return node.args[0]?.dim ?? 0;
  return node.kind === 'contract' ? contractionIndices(node.contraction).terms : 0;
}

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
