import { constant, inputsOf, type Category, type ReductionKind } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import { chooseCpuTile, chooseCudaTile, type CpuTile, type CudaTile } from './choose-tile.js';
import { toList, type ExpressionList } from './expression-list.js';
import { lowerFormula } from './lower-formula.js';
import type { MapReduceProblem } from './problem.js';
import { reducerOf } from './reducers/reducer-of.js';
import { isWide } from './wide/is-wide.js';
import { planWide } from './wide/wide-plan.js';
import type { WidePlan } from './wide/wide-plan-types.js';

/** An input of a plan: `dim` numbers for every row of i or of j, or once. */
export interface MapReduceInput {
  readonly position: number;
  readonly category: Category;
  readonly dim: number;
}

interface CommonPlan {
  readonly family: 'map-reduce';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  readonly reduction: ReductionKind;
  /** 1: over j, a result for every i. 0: over i. */
  readonly axis: 0 | 1;
  /** Components of the formula. */
  readonly dim: number;
  /** Components of the weight, 1 where there is none. */
  readonly weightDim: number;
  readonly k: number;
  /** What is computed for a pair of rows: the formula's components, then those of the weight. */
  readonly values: ExpressionList;
  readonly inputs: readonly MapReduceInput[];
}

/** How a formula is reduced on a CPU. */
export interface CpuMapReducePlan extends CommonPlan, CpuTile {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
}

/** How a formula is reduced on a GPU. */
export interface CudaMapReducePlan extends CommonPlan, CudaTile {
  readonly kind: 'cuda';
}

/** How a short formula is reduced: every operation on every component is written out. */
export type UnrolledPlan = CpuMapReducePlan | CudaMapReducePlan;

/** How a formula is reduced: plain frozen data, the same for the same problem and limits. */
export type MapReducePlan = UnrolledPlan | WidePlan;

/**
 * The plan of a map-reduce. Throws a `RangeError` for a formula beyond `MAP_REDUCE_LIMITS`, and for
 * functions and reductions that have no kernel text.
 *
 * ```ts
 * import { ops, reduction, vi, vj } from '@mercer/formula';
 * import { emitMapReduce, planMapReduce } from '@mercer/kernels';
 * const gaussian = ops.exp(ops.neg(ops.sqDist(vi(0, 3), vj(1, 3))));
 * const plan = planMapReduce(
 *   { reduction: reduction('Sum', gaussian), dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 },
 *   { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 32768, l2Bytes: 1048576 },
 * );
 * console.log(plan.summary, emitMapReduce(plan).steps.length); // map-reduce float32 Sum over j of 1, i 3 j 3, 4 groups of 8 rows, tiles of 256 1
 * ```
 */
export function planMapReduce(problem: MapReduceProblem, limits: DeviceLimits): MapReducePlan {
  const { dtype, reduction } = problem;
  const { kind, formula, weight, axis, k = 1 } = reduction;
  const roots = weight === undefined ? [formula] : [formula, weight];
  const inputs = inputsOf(...roots).map(({ position, category, dim }) =>
    Object.freeze({ position, category, dim }),
  );
  checkInputs(inputs);
  if (isWide(problem, limits)) return planWide(problem, Object.freeze(inputs), limits);
  const one = [constant(1)];
  // the sums of weights need their count, or a weight
  const weights =
    kind === 'SumSoftMaxWeight' && weight !== undefined
      ? [...lowerFormula(weight), ...one]
      : weight !== undefined
        ? lowerFormula(weight)
        : kind === 'LogSumExp' || kind === 'MaxSumShiftExp'
          ? one
          : [];
  const common = {
    ...({ family: 'map-reduce', dtype, reduction: kind, axis, k } as const),
    ...{ dim: formula.dim, weightDim: weight?.dim ?? 1 },
    ...{ values: toList([...lowerFormula(formula), ...weights]), inputs: Object.freeze(inputs) },
  };
  const slots = slotsOf(common);
  const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const shape = {
    ...{ dtype, slots: slots.length, operations: common.values.nodes.length },
    ...{ own: componentsOf(inputs, kept), other: componentsOf(inputs, reduced) },
    rows: (axis === 1 ? problem.rowsI : problem.rowsJ) * problem.batch,
    terms: axis === 1 ? problem.rowsJ : problem.rowsI,
    mergeable: !kind.includes('K'),
  };
  const head = [
    `map-reduce ${dtype} ${kind}${k > 1 ? ` ${String(k)}` : ''} over ${reduced} of ${String(formula.dim)}`,
    `i ${String(componentsOf(inputs, 'i'))} j ${String(componentsOf(inputs, 'j'))}`,
  ];
  if (limits.kind === 'cpu') {
    const { text, ...tile } = chooseCpuTile(shape, limits);
    const summary = [...head, text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const { text, ...tile } = chooseCudaTile(shape, limits);
  return Object.freeze({ kind: 'cuda', summary: [...head, text].join(', '), ...common, ...tile });
}

/** How many components the inputs of a category have together. */
export function componentsOf(inputs: readonly MapReduceInput[], wanted: Category): number {
  return inputs.reduce((sum, { category, dim }) => sum + (category === wanted ? dim : 0), 0);
}

function slotsOf(common: Pick<CommonPlan, 'reduction' | 'dim' | 'weightDim' | 'k'>) {
  const nothing = (): string => '';
  const dialect = { lit: nothing, exp: nothing, log: nothing, abs: nothing };
  return reducerOf({ ...common, kind: common.reduction, dialect }).slots;
}

function checkInputs(inputs: readonly MapReduceInput[]): void {
  inputs.forEach(({ position }, n) => {
    if (inputs.findIndex((other) => other.position === position) === n) return;
    throw new RangeError(
      `cannot plan a map-reduce: input ${String(position)} stands in the formula with two dims or categories. ` +
        `Give every input a position of its own.`,
    );
  });
}
