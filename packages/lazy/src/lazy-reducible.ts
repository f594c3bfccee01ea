import {
  ops,
  reduction as describeReduction,
  type Reduction,
  type ReductionKind,
  type VectorExpr,
} from '@mercer/formula';
import { describeList, type OptionNames } from '@mercer/options';
import { readOptions } from './call-options.js';
import { LazyCalculus } from './lazy-calculus.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError, translated } from './lazy-error.js';
import { checkOperand, type LazyOperand } from './lazy-formula.js';
import { LazyReduction } from './lazy-reduction.js';
import type { CallReduceOptions, IndexDType, LazyAxis, ResultOf } from './reduction-types.js';
import { merge } from './symbolic.js';

/** The side that a reduction runs over, or 'dim': the components of the vector, which stays symbolic. */
export type AxisOrDim = LazyAxis | 'dim';

/** What a method gives: over 'dim' a symbolic matrix, over a side the promise of a result. */
export type OverAxis<A extends AxisOrDim, Matrix, Result> = A extends 'dim'
  ? Matrix
  : Promise<Result>;

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

type KindWithDim = 'Sum' | 'Min' | 'Max' | 'ArgMin' | 'ArgMax';

/** How every reduction is described and run. */
export abstract class LazyReducible<D extends LazyDType = LazyDType> extends LazyCalculus<D> {
  /**
   * A reduction to be called later, once or often, with data for the placeholders: KeOps' `call=False`.
   *
   * @throws LazyError for an axis that is not 'i' or 'j', a weight or k that is missing or not taken
   */
  reduction<K extends ReductionKind>(
    kind: K,
    axis: LazyAxis,
    options?: DescribeOptions,
  ): LazyReduction<K, D> {
    const given = readOptions(kind, options, DESCRIBE_OPTIONS);
    return this.describe(kind, kind, axis, given);
  }

  protected describe<K extends ReductionKind>(
    what: string,
    kind: K,
    axis: LazyAxis,
    { weight, k }: DescribeOptions,
  ): LazyReduction<K, D> {
    checkAxis(what, axis);
    const part =
      weight === undefined ? [] : [checkOperand(`${what}: the weight`, weight, this.field)];
    const weights = part.map((one) =>
      typeof one === 'number' ? { formula: ops.constant(one), inputs: [] } : one,
    );
    const { formulas, inputs } = merge([this, ...weights]);
    const [formula, second] = formulas as readonly [VectorExpr, VectorExpr?];
    const of: Reduction = translated(what, () =>
      describeReduction(kind, formula, {
        axis: axis === 'j' ? 1 : 0,
        ...(second !== undefined && { weight: second }),
        ...(k !== undefined && { k }),
      }),
    );
    return new LazyReduction(what, of, inputs);
  }

  protected async reduce<K extends ReductionKind, I extends IndexDType = 'int32'>(
    what: string,
    kind: K,
    axis: LazyAxis,
    options: CallReduceOptions<K, D, I> | undefined,
    described?: DescribeOptions,
  ): Promise<ResultOf<K, D, I>> {
    const given = readOptions(what, described, DESCRIBE_OPTIONS);
    return this.describe(what, kind, axis, given).call([], options);
  }

  /** Over a side, a promise of numbers; over 'dim', a formula of dim 1. */
  protected either<A extends AxisOrDim, K extends KindWithDim, I extends IndexDType = 'int32'>(
    what: string,
    kind: K,
    axis: A | undefined,
    options: OverAxisOptions<A, CallReduceOptions<K, D, I>> | undefined,
  ): OverAxis<A, this, ResultOf<K, D, I>> {
    const side: AxisOrDim = axis ?? 'dim';
    const over = (): this | Promise<ResultOf<K, D, I>> => {
      if (side !== 'dim') return this.reduce(what, kind, side, options);
      readOptions<object>(`${what}('dim')`, options, {});
      return this.unary(what, OVER_DIM[kind]);
    };
    return over() as OverAxis<A, this, ResultOf<K, D, I>>;
  }
}

const OVER_DIM: { readonly [K in KindWithDim]: (f: VectorExpr) => VectorExpr } = {
  Sum: ops.sum,
  Min: ops.min,
  Max: ops.max,
  ArgMin: ops.argMin,
  ArgMax: ops.argMax,
};

/** @throws LazyError INVALID_ARGUMENT */
export function checkAxis(what: string, axis: unknown): void {
  if (axis === 'i' || axis === 'j') return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the axis is ${describeList(axis)}. Use 'j' for one result for each row i, or 'i' for one result for each row j.`,
  );
}
