import {
  ops,
  reduction as describe,
  type Reduction,
  type ReductionKind,
  type VectorExpr,
} from '@mercer/formula';
import { LazyCalculus } from './lazy-calculus.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError, translated } from './lazy-error.js';
import type { LazyFormula } from './lazy-formula.js';
import { LazyReduction } from './lazy-reduction.js';
import type { LazyAxis, ReduceOptions, ResultOf } from './reduction-types.js';
import { combine, merge } from './symbolic.js';
import { checkBound } from './transforms.js';
import { matrixInput } from './make-input.js';
import { nodeAt } from './input.js';
import type { Tensor } from '@mercer/tensor';

/** The side that a reduction runs over, or 'dim': the components of the vector, which stays symbolic. */
type AxisOrDim = LazyAxis | 'dim';

/** What a kind of reduction needs beside the axis. */
export interface DescribeOptions {
  /** The second formula of LogSumExp and SumSoftMaxWeight. */
  readonly weight?: LazyFormula | undefined;
  /** How many extrema, of the kinds with K. */
  readonly k?: number | undefined;
}

type KindWithDim = 'Sum' | 'Min' | 'Max' | 'ArgMin' | 'ArgMax';

/** Reductions over the rows of i or of j: the numbers of a matrix that is never stored. */
export abstract class LazyReductions<D extends LazyDType = LazyDType> extends LazyCalculus<D> {
  /**
   * A reduction to be called later, once or often, with data for the placeholders: KeOps' `call=False`.
   *
   * @throws LazyError for an axis that is not 'i' or 'j', a weight or k that is missing or not taken
   */
  reduction<K extends ReductionKind>(
    kind: K,
    axis: LazyAxis,
    { weight, k }: DescribeOptions = {},
  ): LazyReduction<K, D> {
    return this.#describe(kind, kind, axis, { weight, k });
  }

  #describe<K extends ReductionKind>(
    what: string,
    kind: K,
    axis: LazyAxis,
    { weight, k }: DescribeOptions,
  ): LazyReduction<K, D> {
    checkAxis(what, axis);
    const parts = weight === undefined ? [this] : [this, weight];
    const { formulas, inputs } = merge(parts);
    const [formula, second] = formulas as readonly [VectorExpr, VectorExpr?];
    const of: Reduction = translated(what, () =>
      describe(kind, formula, {
        axis: axis === 'j' ? 1 : 0,
        ...(second !== undefined && { weight: second }),
        ...(k !== undefined && { k }),
      }),
    );
    return new LazyReduction(what, of, inputs);
  }

  async #reduce<K extends ReductionKind>(
    what: string,
    kind: K,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<K, D>> & DescribeOptions,
  ): Promise<ResultOf<K, D>> {
    const { weight, k, ...rest } = options;
    return this.#describe(what, kind, axis, { weight, k }).call([], rest);
  }

  /** Over a side, a promise of numbers; over 'dim', a formula of dim 1. */
  #either<K extends KindWithDim>(
    what: string,
    kind: K,
    axis: AxisOrDim,
    options: ReduceOptions<ResultOf<K, D>>,
  ): this | Promise<ResultOf<K, D>> {
    if (axis !== 'dim') return this.#reduce(what, kind, axis, options);
    return this.unary(what, OVER_DIM[kind]);
  }

  /** The sum of all components, dim 1, still symbolic; or the sums over a side, (..batch, rows, dim). */
  sum(axis?: 'dim'): this;
  sum(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Sum', D>>): Promise<ResultOf<'Sum', D>>;
  sum(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Sum', D>> = {},
  ): this | Promise<ResultOf<'Sum', D>> {
    return this.#either('sum', 'Sum', axis, options);
  }

  /** The smallest component, or the smallest values over a side; NaN where there is one. */
  min(axis?: 'dim'): this;
  min(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Min', D>>): Promise<ResultOf<'Min', D>>;
  min(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Min', D>> = {},
  ): this | Promise<ResultOf<'Min', D>> {
    return this.#either('min', 'Min', axis, options);
  }

  /** The largest component, or the largest values over a side; NaN where there is one. */
  max(axis?: 'dim'): this;
  max(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Max', D>>): Promise<ResultOf<'Max', D>>;
  max(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Max', D>> = {},
  ): this | Promise<ResultOf<'Max', D>> {
    return this.#either('max', 'Max', axis, options);
  }

  /** The index of the first smallest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMin(axis?: 'dim'): this;
  argMin(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'ArgMin', D>>,
  ): Promise<ResultOf<'ArgMin', D>>;
  argMin(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'ArgMin', D>> = {},
  ): this | Promise<ResultOf<'ArgMin', D>> {
    return this.#either('argMin', 'ArgMin', axis, options);
  }

  /** The index of the first largest component, as a number of the formula; or row numbers over a side, int32, -1 if empty. */
  argMax(axis?: 'dim'): this;
  argMax(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'ArgMax', D>>,
  ): Promise<ResultOf<'ArgMax', D>>;
  argMax(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'ArgMax', D>> = {},
  ): this | Promise<ResultOf<'ArgMax', D>> {
    return this.#either('argMax', 'ArgMax', axis, options);
  }

  /** The products over a side; empty: 1. */
  prod(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Prod', D>> = {},
  ): Promise<ResultOf<'Prod', D>> {
    return this.#reduce('prod', 'Prod', axis, options);
  }

  /** The means over a side; empty: NaN. */
  mean(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Mean', D>> = {},
  ): Promise<ResultOf<'Mean', D>> {
    return this.#reduce('mean', 'Mean', axis, options);
  }

  /** 1 where a value over a side is not 0, else 0. */
  any(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Any', D>> = {},
  ): Promise<ResultOf<'Any', D>> {
    return this.#reduce('any', 'Any', axis, options);
  }

  /** 1 where no value over a side is 0, else 0. */
  all(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'All', D>> = {},
  ): Promise<ResultOf<'All', D>> {
    return this.#reduce('all', 'All', axis, options);
  }

  /** How many values over a side are not 0. */
  count(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Count', D>> = {},
  ): Promise<ResultOf<'Count', D>> {
    return this.#reduce('count', 'Count', axis, options);
  }

  /** The smallest values over a side, and the row numbers of the first of them. */
  minArgMin(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'MinArgMin', D>> = {},
  ): Promise<ResultOf<'MinArgMin', D>> {
    return this.#reduce('minArgMin', 'MinArgMin', axis, options);
  }

  /** The largest values over a side, and the row numbers of the first of them. */
  maxArgMax(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'MaxArgMax', D>> = {},
  ): Promise<ResultOf<'MaxArgMax', D>> {
    return this.#reduce('maxArgMax', 'MaxArgMax', axis, options);
  }

  /** The k smallest values over a side, ascending: (..batch, rows, k * dim), the smallest of all components first. NaN comes last, +inf where there are fewer rows. */
  kMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMin', D>> = {},
  ): Promise<ResultOf<'KMin', D>> {
    return this.#reduce('kMin', 'KMin', axis, { ...options, k });
  }

  /** The row numbers of the k smallest values over a side, int32: (..batch, rows, k * dim), -1 where there are fewer rows. */
  argKMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'ArgKMin', D>> = {},
  ): Promise<ResultOf<'ArgKMin', D>> {
    return this.#reduce('argKMin', 'ArgKMin', axis, { ...options, k });
  }

  /** The k smallest values over a side and their row numbers. */
  kMinArgKMin(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMinArgKMin', D>> = {},
  ): Promise<ResultOf<'KMinArgKMin', D>> {
    return this.#reduce('kMinArgKMin', 'KMinArgKMin', axis, { ...options, k });
  }

  /** The k largest values over a side, descending: (..batch, rows, k * dim). NaN comes last, -inf where there are fewer rows. */
  kMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMax', D>> = {},
  ): Promise<ResultOf<'KMax', D>> {
    return this.#reduce('kMax', 'KMax', axis, { ...options, k });
  }

  /** The row numbers of the k largest values over a side, int32. */
  argKMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'ArgKMax', D>> = {},
  ): Promise<ResultOf<'ArgKMax', D>> {
    return this.#reduce('argKMax', 'ArgKMax', axis, { ...options, k });
  }

  /** The k largest values over a side and their row numbers. */
  kMaxArgKMax(
    k: number,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'KMaxArgKMax', D>> = {},
  ): Promise<ResultOf<'KMaxArgKMax', D>> {
    return this.#reduce('kMaxArgKMax', 'KMaxArgKMax', axis, { ...options, k });
  }

  /**
   * The variances over a side, divided by the count; empty: NaN. Two passes, the means first, so that nothing cancels.
   *
   * @throws LazyError UNBOUND_VARIABLE where an input is a placeholder
   */
  async variance(axis: LazyAxis, options: ReduceOptions<Tensor<D>> = {}): Promise<Tensor<D>> {
    checkAxis('variance', axis);
    checkBound('variance', this.inputs);
    const { out: _, ...rest } = options;
    using mean = await this.mean(axis, rest);
    const means = matrixInput('variance', mean, axis === 'j' ? 'i' : 'j', 'mean');
    const center = { formula: nodeAt(means, 0), inputs: [means] };
    const squares = combine('variance', [this, center], (f, m) => ops.square(ops.sub(f, m)));
    return this.derive('variance', squares).mean(axis, options);
  }

  /**
   * The logarithms of the sums of `e ^ this` over a side, or with a weight of `e ^ this * weight`, of its dim. This has dim 1.
   * Empty: -inf; NaN where the weighted total is negative.
   */
  logSumExp(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'LogSumExp', D>> & Pick<DescribeOptions, 'weight'> = {},
  ): Promise<ResultOf<'LogSumExp', D>> {
    return this.#reduce('logSumExp', 'LogSumExp', axis, options);
  }

  /** The means of `weight` over a side with the weights `e ^ this`, of its dim. This has dim 1. Empty: NaN. */
  sumSoftMaxWeight(
    weight: LazyFormula,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'SumSoftMaxWeight', D>> = {},
  ): Promise<ResultOf<'SumSoftMaxWeight', D>> {
    return this.#reduce('sumSoftMaxWeight', 'SumSoftMaxWeight', axis, { ...options, weight });
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
function checkAxis(what: string, axis: unknown): void {
  if (axis === 'i' || axis === 'j') return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the axis is ${JSON.stringify(axis)}. Use 'j' for one result for each row i, or 'i' for one result for each row j.`,
  );
}
