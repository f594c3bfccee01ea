import { describeList, type OptionNames } from '@mercer/options';
import { readOptions } from '../../read-options.js';
import { FormulaError } from '../../formula-error.js';
import { dimError, integer, toVector } from '../check-arguments.js';
import { isVectorExpr } from '../intern-vector.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';

/** Index 1: over j, one result for each i. Index 0: over i, one result for each j. As KeOps' axis. */
export type ReductionAxis = 0 | 1;

/** What is the same for every reduction of a kind. */
export interface ReductionTraits {
  /** `value`: numbers; `index`: row numbers of the reduced side. */
  readonly outputs: readonly ('value' | 'index')[];
  /** The formula has dim 1, and exponentials of it are added up. */
  readonly isExponential: boolean;
  /** A second formula: what is weighted. */
  readonly weight: 'optional' | 'required' | undefined;
  /** How many extrema are wanted is a number k. */
  readonly takesK: boolean;
  /** Which values are wanted of each component, or the rows that have them. */
  readonly extremum: 'least' | 'largest' | undefined;
}

const value = {
  outputs: ['value'],
  isExponential: false,
  weight: undefined,
  takesK: false,
  extremum: undefined,
} as const;
const exponential = { ...value, isExponential: true } as const;
const least = { ...value, extremum: 'least' } as const;
const largest = { ...value, extremum: 'largest' } as const;
const index = { outputs: ['index'] } as const;
const both = { outputs: ['value', 'index'] } as const;
const ofK = { takesK: true } as const;

/** Every reduction, by KeOps' name where it has one. */
const TABLE = {
  /** Component by component. Empty: 0. */
  Sum: value,
  /** Empty: 1. */
  Prod: value,
  /** Empty: NaN. */
  Mean: value,
  /** Mean of the squared distance from the mean (divided by the count). Empty: NaN. */
  Var: value,
  /** 1 if a value is not 0. Empty: 0. */
  Any: value,
  /** 1 if no value is 0. Empty: 1. */
  All: value,
  /** How many values are not 0. */
  Count: value,
  /** log of the sum of exp(F) G, with G = 1 if there is none; dim of G. Empty: -inf. */
  LogSumExp: { ...exponential, weight: 'optional' },
  /** Sum of exp(F) G over sum of exp(F); dim of G. Empty: NaN. */
  SumSoftMaxWeight: { ...exponential, weight: 'required' },
  /** The largest F, then sums of exp(F - largest) G: 1 + dim of G (1 if there is none). */
  MaxSumShiftExp: { ...exponential, weight: 'optional' },
  Min: least,
  Max: largest,
  ArgMin: { ...least, ...index },
  ArgMax: { ...largest, ...index },
  MinArgMin: { ...least, ...both },
  MaxArgMax: { ...largest, ...both },
  /** The k smallest of each component, ascending: k times dim of F, the smallest of all first. */
  KMin: { ...least, ...ofK },
  ArgKMin: { ...least, ...index, ...ofK },
  KMinArgKMin: { ...least, ...both, ...ofK },
  KMax: { ...largest, ...ofK },
  ArgKMax: { ...largest, ...index, ...ofK },
  KMaxArgKMax: { ...largest, ...both, ...ofK },
} as const satisfies Record<string, ReductionTraits>;

/** The name of a reduction. */
export type ReductionKind = keyof typeof TABLE;

/**
 * What is the same for every reduction of a kind.
 *
 * ```ts
 * import { traitsOf } from '@mercer/formula';
 * const { takesK, extremum, outputs } = traitsOf('ArgKMin');
 * console.log(takesK, extremum, outputs); // true least [ 'index' ]
 * ```
 */
export function traitsOf(kind: ReductionKind): ReductionTraits {
  if (typeof kind === 'string' && Object.hasOwn(TABLE, kind)) return TABLE[kind];
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `traitsOf: ${describeList(kind)} is no kind of reduction. Use one of ${REDUCTION_KINDS.join(', ')}.`,
  );
}

/** Every reduction's name. */
export const REDUCTION_KINDS = Object.freeze(Object.keys(TABLE)) as readonly ReductionKind[];

/** What is to be reduced, how, and along which side: a plain frozen value. */
export interface Reduction {
  readonly kind: ReductionKind;
  readonly formula: VectorExpr;
  readonly axis: ReductionAxis;
  /** The second formula of the weighted kinds. */
  readonly weight?: VectorExpr | undefined;
  /** How many extrema, of the kinds with K. */
  readonly k?: number | undefined;
}

/** What a kind needs beside the formula. */
export interface ReductionOptions {
  /** Default 1: over j. */
  readonly axis?: ReductionAxis | undefined;
  readonly weight?: VectorOperand | undefined;
  readonly k?: number | undefined;
}

const REDUCTION_OPTIONS: OptionNames<ReductionOptions> = { axis: true, weight: true, k: true };

/** One array that a reduction gives, a row of `dim` for every row of the kept side. */
export interface ReductionOutput {
  readonly name: 'value' | 'index';
  readonly dim: number;
}

const MAX_K = 65_536;

/**
 * Describes a reduction. Throws `FormulaError`: `INVALID_ARGUMENT` for an unknown kind, an axis that
 * is not 0 or 1, a k or weight that is missing or not taken; `DIM_MISMATCH` where F must have dim 1.
 *
 * ```ts
 * import { ops, outputsOf, reduction, vi, vj } from '@mercer/formula';
 * const nearest = reduction('ArgKMin', ops.sqDist(vi(0, 3), vj(1, 3)), { k: 5 });
 * console.log(outputsOf(nearest)); // [ { name: 'index', dim: 5 } ]
 * ```
 */
export function reduction(
  kind: ReductionKind,
  formula: VectorOperand,
  options?: ReductionOptions,
): Reduction {
  const { axis = 1, weight, k } = readOptions('reduction', options, REDUCTION_OPTIONS);
  return reductionOf(kind, formula, axis, weight, k);
}

/**
 * The same with what the options say, each in its place: for callers that have read options of their own. Throws as `reduction`.
 *
 * ```ts
 * import { ops, reductionOf, outputsOf, vi, vj } from '@mercer/formula';
 * const sums = reductionOf('Sum', ops.sub(vi(0, 3), vj(1, 3)), 1, undefined, undefined);
 * console.log(outputsOf(sums)); // [ { name: 'value', dim: 3 } ]
 * ```
 */
export function reductionOf(
  kind: ReductionKind,
  formula: VectorOperand,
  axis: ReductionAxis,
  weight: VectorOperand | undefined,
  k: number | undefined,
): Reduction {
  if (typeof kind !== 'string' || !Object.hasOwn(TABLE, kind)) {
    fail(
      `there is no reduction ${describeList(kind)}`,
      `Use one of ${REDUCTION_KINDS.join(', ')}.`,
    );
  }
  const traits = traitsOf(kind);
  const f = isVectorExpr(formula) ? formula : toVector(`a ${kind} reduction`, formula);
  if ((axis as unknown) !== 0 && (axis as unknown) !== 1) {
    fail(
      `the axis is ${describeList(axis)}`,
      'Use 1 to reduce over j and keep i, or 0 to reduce over i.',
    );
  }
  if (traits.isExponential && f.dim !== 1) {
    throw dimError(
      `a ${kind} reduction`,
      `the formula has dim ${f.dim}`,
      'It takes a formula of dim 1.',
    );
  }
  if (weight === undefined && traits.weight === 'required') {
    fail(`${kind} needs a weight`, "Pass the second formula as 'weight'.");
  }
  if (weight !== undefined && traits.weight === undefined) {
    fail(
      `${kind} takes no weight`,
      'Multiply the formula by it, or use LogSumExp or SumSoftMaxWeight.',
    );
  }
  if (!traits.takesK && k !== undefined)
    fail(`${kind} takes no k`, 'Use KMin, ArgKMin or their kin.');
  if (traits.takesK && k === undefined) fail(`${kind} needs k`, 'Pass how many extrema you want.');
  return Object.freeze({
    kind,
    formula: f,
    axis,
    weight: weight === undefined ? undefined : toVector(`a ${kind} reduction`, weight),
    k: k === undefined ? undefined : integer(`a ${kind} reduction`, 'k', k, 1, MAX_K),
  });
}

function fail(problem: string, remedy: string): never {
  throw new FormulaError('INVALID_ARGUMENT', `cannot build a reduction: ${problem}. ${remedy}`);
}

/** The arrays that a reduction gives, and their dims. */
export function outputsOf(of: Reduction): readonly ReductionOutput[] {
  assertReduction(of, 'outputsOf');
  const { kind, formula, weight, k } = of;
  return traitsOf(kind).outputs.map((name) => ({
    name,
    dim: dimOf(kind, formula.dim, weight?.dim, k),
  }));
}

/** @throws FormulaError INVALID_ARGUMENT for what `reduction` did not give */
export function assertReduction(value: unknown, what: string): asserts value is Reduction {
  const { kind, formula } = (typeof value === 'object' && value !== null ? value : {}) as {
    readonly kind?: unknown;
    readonly formula?: unknown;
  };
  if (typeof kind === 'string' && Object.hasOwn(TABLE, kind) && isVectorExpr(formula)) return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `${what}: the reduction is ${describeList(value)}. Make it with reduction() or parseReduction().`,
  );
}

function dimOf(kind: ReductionKind, dim: number, weight = 1, k = 1): number {
  if (kind === 'MaxSumShiftExp') return 1 + weight;
  return traitsOf(kind).isExponential ? weight : dim * k;
}
