import { ops, reductionOf, type ReductionKind, type VectorExpr } from '@mercer/formula';
import { describeList, type OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { pendingCall } from '@mercer/tensor/operation';
import { readOptions, REDUCE_OPTIONS } from './call-options.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError, translated } from './lazy-error.js';
import { checkOperand, type LazyOperand, type Rules } from './lazy-formula.js';
import { LazyReduction } from './lazy-reduction.js';
import type {
  CallReduceOptions,
  IndexDType,
  LazyAxis,
  OutDType,
  OutDTypeOption,
  PendingResult,
  ReduceOptions,
  ResultOf,
} from './reduction-types.js';
import { promisedResult, resultOf } from './reductions.js';
import type { JointTask } from './task.js';
import { combine, merge, type Part, type Symbolic } from './symbolic.js';

/** The side that a reduction runs over, or 'dim': the components of the vector, which stays symbolic. */
export type AxisOrDim = LazyAxis | 'dim';

/** What a method gives: over 'dim' a symbolic matrix, over a side the promise of a result. */
export type OverAxis<A extends AxisOrDim, Matrix, Result> = A extends 'dim'
  ? Matrix
  : PendingResult<Result>;

/** Options of a method over an axis: none over 'dim'. */
export type OverAxisOptions<A extends AxisOrDim, Options> = A extends 'dim' ? undefined : Options;

/** What a kind of reduction needs beside the axis. */
export interface DescribeOptions {
  /** The second formula of LogSumExp and SumSoftMaxWeight. */
  readonly weight?: LazyOperand | undefined;
  /** How many extrema, of the kinds with K. */
  readonly k?: number | undefined;
}

/** Names of {@link DescribeOptions}. */
export const DESCRIBE_OPTIONS: OptionNames<DescribeOptions> = { weight: true, k: true };

/** Methods of a symbolic matrix that reduce it over a side, or some of them each vector over its components. */
export interface LazyReductions<D extends LazyDType = LazyDType> {
  /** The sum of all components, dim 1, still symbolic; or the sums over a side, (..batch, rows, dim). */
  sum<A extends AxisOrDim = 'dim', O extends OutDType = D>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Sum', NoInfer<O>>> & OutDTypeOption<O>>,
  ): OverAxis<A, this, ResultOf<'Sum', O>>;

  /** The products over a side; empty: 1. */
  prod<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Prod', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'Prod', O>>;

  /** The means over a side; empty: NaN. */
  mean<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Mean', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'Mean', O>>;

  /** 1 where a value over a side is not 0, else 0. */
  any<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Any', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'Any', O>>;

  /** 1 where no value over a side is 0, else 0. */
  all<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'All', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'All', O>>;

  /** How many values over a side are not 0. */
  count<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Count', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'Count', O>>;

  /** The variances over a side, divided by the count, as numpy's `var` does: means of squared distances from the mean. Empty: NaN. */
  var<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Var', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'Var', O>>;

  /**
   * The logarithms of the sums of `e ^ this` over a side, or with a weight of `e ^ this * weight`, of its dim. This has dim 1.
   * Empty: -inf; NaN where the weighted total is negative.
   */
  logSumExp<O extends OutDType = D>(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'LogSumExp', NoInfer<O>>> &
      OutDTypeOption<O> &
      Pick<DescribeOptions, 'weight'>,
  ): PendingResult<ResultOf<'LogSumExp', O>>;

  /** The means of `weight` over a side with the weights `e ^ this`, of its dim. This has dim 1. Empty: NaN. */
  sumSoftMaxWeight<O extends OutDType = D>(
    weight: LazyOperand,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'SumSoftMaxWeight', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'SumSoftMaxWeight', O>>;

  /** The smallest component, or the smallest values over a side; NaN where there is one. */
  min<A extends AxisOrDim = 'dim', O extends OutDType = D>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Min', NoInfer<O>>> & OutDTypeOption<O>>,
  ): OverAxis<A, this, ResultOf<'Min', O>>;

  /** The largest component, or the largest values over a side; NaN where there is one. */
  max<A extends AxisOrDim = 'dim', O extends OutDType = D>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Max', NoInfer<O>>> & OutDTypeOption<O>>,
  ): OverAxis<A, this, ResultOf<'Max', O>>;

  /** The index of the first smallest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMin<A extends AxisOrDim = 'dim', I extends IndexDType = 'int32'>(
    axis?: A,
    options?: OverAxisOptions<A, CallReduceOptions<'ArgMin', D, I>>,
  ): OverAxis<A, this, Tensor<I>>;

  /** The index of the first largest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMax<A extends AxisOrDim = 'dim', I extends IndexDType = 'int32'>(
    axis?: A,
    options?: OverAxisOptions<A, CallReduceOptions<'ArgMax', D, I>>,
  ): OverAxis<A, this, Tensor<I>>;

  /** The smallest values over a side, and the row numbers of the first of them. */
  minArgMin<I extends IndexDType = 'int32', O extends OutDType = D>(
    axis: LazyAxis,
    options?: CallReduceOptions<'MinArgMin', O, I>,
  ): PendingResult<ResultOf<'MinArgMin', O, I>>;

  /** The largest values over a side, and the row numbers of the first of them. */
  maxArgMax<I extends IndexDType = 'int32', O extends OutDType = D>(
    axis: LazyAxis,
    options?: CallReduceOptions<'MaxArgMax', O, I>,
  ): PendingResult<ResultOf<'MaxArgMax', O, I>>;

  /** The k smallest values over a side, ascending: (..batch, rows, k * dim), the smallest of all components first. NaN comes last, +inf where there are fewer rows. */
  kMin<O extends OutDType = D>(
    k: number,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'KMin', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'KMin', O>>;

  /** The row numbers of the k smallest values over a side, int32: (..batch, rows, k * dim), -1 where there are fewer rows. */
  argKMin<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'ArgKMin', D, I>,
  ): PendingResult<ResultOf<'ArgKMin', D, I>>;

  /** The k smallest values over a side and their row numbers. */
  kMinArgKMin<I extends IndexDType = 'int32', O extends OutDType = D>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'KMinArgKMin', O, I>,
  ): PendingResult<ResultOf<'KMinArgKMin', O, I>>;

  /** The k largest values over a side, descending: (..batch, rows, k * dim). NaN comes last, -inf where there are fewer rows. */
  kMax<O extends OutDType = D>(
    k: number,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'KMax', NoInfer<O>>> & OutDTypeOption<O>,
  ): PendingResult<ResultOf<'KMax', O>>;

  /** The row numbers of the k largest values over a side, int32. */
  argKMax<I extends IndexDType = 'int32'>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'ArgKMax', D, I>,
  ): PendingResult<ResultOf<'ArgKMax', D, I>>;

  /** The k largest values over a side and their row numbers. */
  kMaxArgKMax<I extends IndexDType = 'int32', O extends OutDType = D>(
    k: number,
    axis: LazyAxis,
    options?: CallReduceOptions<'KMaxArgKMax', O, I>,
  ): PendingResult<ResultOf<'KMaxArgKMax', O, I>>;
}

/** A reduction of a matrix, described. @throws LazyError */
export function describeReduction<K extends ReductionKind, D extends LazyDType>(
  what: string,
  x: Symbolic,
  kind: K,
  axis: LazyAxis,
  options: DescribeOptions,
): LazyReduction<K, D> {
  const { reductions, inputs } = describe(what, x, kind, axis, options);
  return new LazyReduction(what, reductions[0], inputs);
}

function describe(
  what: string,
  x: Symbolic,
  kind: ReductionKind,
  axis: LazyAxis,
  { weight, k }: DescribeOptions,
): JointTask {
  checkAxis(what, axis);
  const parts: Part[] = [x];
  if (weight !== undefined) parts.push(checkOperand(`${what}: the weight`, weight, 'real'));
  const { formulas, inputs } = merge(parts);
  const [formula, weights] = formulas as readonly [VectorExpr, VectorExpr?];
  const of = translated(what, () => reductionOf(kind, formula, axis === 'j' ? 1 : 0, weights, k));
  return { what, reductions: [of], inputs, names: undefined };
}

/** What kinds need that take neither a weight nor k. */
const NO_MORE: DescribeOptions = { weight: undefined, k: undefined };

/** A reduction of a matrix, computed. Errors are rejections. */
export function reduce<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  what: string,
  x: Symbolic,
  kind: K,
  axis: LazyAxis,
  options: CallReduceOptions<K, D, I> | undefined,
  more = NO_MORE,
): PendingResult<ResultOf<K, D, I>> {
  return promisedResult(kind, () => describe(what, x, kind, axis, more), [], options);
}

/** The same; the result itself where nothing had to be waited for. @throws as it rejects */
export function reduced<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  what: string,
  x: Symbolic,
  kind: K,
  axis: LazyAxis,
  options: CallReduceOptions<K, D, I> | undefined,
  more: DescribeOptions = NO_MORE,
): ResultOf<K, D, I> | Promise<ResultOf<K, D, I>> {
  return resultOf(describe(what, x, kind, axis, more), [], options);
}

type Options<K extends ReductionKind> = CallReduceOptions<K, OutDType, IndexDType> | undefined;
type Result<K extends ReductionKind> = PendingResult<ResultOf<K, OutDType, IndexDType>>;

const overSide =
  <K extends ReductionKind>(kind: K) =>
  (what: string, x: Symbolic, axis: LazyAxis, options?: Options<K>): Result<K> =>
    reduce(what, x, kind, axis, options);

/** Also over 'dim', where `build` makes one number of a vector. */
const overSideOrDim =
  <K extends ReductionKind>(kind: K, build: (f: VectorExpr) => VectorExpr) =>
  (what: string, x: Symbolic, axis?: AxisOrDim, options?: Options<K>): Symbolic | Result<K> => {
    const side = axis ?? 'dim';
    if (side !== 'dim') return reduce(what, x, kind, side, options);
    readOptions<object>(`${what}('dim')`, options, {});
    return combine(what, [x], build);
  };

const ofK =
  <K extends ReductionKind>(kind: K) =>
  (what: string, x: Symbolic, k: number, axis: LazyAxis, options?: Options<K>): Result<K> =>
    reduce(what, x, kind, axis, options, { ...NO_MORE, k });

const LOG_SUM_EXP_OPTIONS: OptionNames<
  ReduceOptions & OutDTypeOption & Pick<DescribeOptions, 'weight'>
> = {
  ...REDUCE_OPTIONS,
  weight: true,
};

/** Which kind of reduction a method is, and what it takes. */
export const REDUCTIONS: Rules<LazyReductions> = {
  sum: overSideOrDim('Sum', ops.sum),
  prod: overSide('Prod'),
  mean: overSide('Mean'),
  any: overSide('Any'),
  all: overSide('All'),
  count: overSide('Count'),
  var: overSide('Var'),
  logSumExp: (what, x, axis, given) =>
    pendingCall(() => {
      const { weight, ...options } = readOptions(what, given, LOG_SUM_EXP_OPTIONS);
      return reduce(what, x, 'LogSumExp', axis, options, { ...NO_MORE, weight });
    }),
  sumSoftMaxWeight: (what, x, weight, axis, options) =>
    reduce(what, x, 'SumSoftMaxWeight', axis, options, { ...NO_MORE, weight }),
  min: overSideOrDim('Min', ops.min),
  max: overSideOrDim('Max', ops.max),
  argMin: overSideOrDim('ArgMin', ops.argMin),
  argMax: overSideOrDim('ArgMax', ops.argMax),
  minArgMin: overSide('MinArgMin'),
  maxArgMax: overSide('MaxArgMax'),
  kMin: ofK('KMin'),
  argKMin: ofK('ArgKMin'),
  kMinArgKMin: ofK('KMinArgKMin'),
  kMax: ofK('KMax'),
  argKMax: ofK('ArgKMax'),
  kMaxArgKMax: ofK('KMaxArgKMax'),
};

/** @throws LazyError INVALID_ARGUMENT */
export function checkAxis(what: string, axis: unknown): void {
  if (axis === 'i' || axis === 'j') return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the axis is ${describeList(axis)}. Use 'j' for one result for each row i, or 'i' for one result for each row j.`,
  );
}
