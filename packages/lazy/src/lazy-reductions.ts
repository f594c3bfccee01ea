import type { OptionNames } from '@mercer/options';
import { readOptions, REDUCE_OPTIONS } from './call-options.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyExtrema } from './lazy-extrema.js';
import type { LazyOperand } from './lazy-formula.js';
import type { AxisOrDim, DescribeOptions, OverAxis, OverAxisOptions } from './lazy-reducible.js';
import type { LazyAxis, ReduceOptions, ResultOf } from './reduction-types.js';

const LOG_SUM_EXP_OPTIONS: OptionNames<ReduceOptions & Pick<DescribeOptions, 'weight'>> = {
  ...REDUCE_OPTIONS,
  weight: true,
};

/** Sums, means and their like over a side of a matrix that is never stored. */
export abstract class LazyReductions<D extends LazyDType = LazyDType> extends LazyExtrema<D> {
  /** The sum of all components, dim 1, still symbolic; or the sums over a side, (..batch, rows, dim). */
  sum<A extends AxisOrDim = 'dim'>(
    axis?: A,
    options?: OverAxisOptions<A, ReduceOptions<ResultOf<'Sum', D>>>,
  ): OverAxis<A, this, ResultOf<'Sum', D>> {
    return this.either('sum', 'Sum', axis, options);
  }

  /** The products over a side; empty: 1. */
  prod(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Prod', D>>): Promise<ResultOf<'Prod', D>> {
    return this.reduce('prod', 'Prod', axis, options);
  }

  /** The means over a side; empty: NaN. */
  mean(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Mean', D>>): Promise<ResultOf<'Mean', D>> {
    return this.reduce('mean', 'Mean', axis, options);
  }

  /** 1 where a value over a side is not 0, else 0. */
  any(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Any', D>>): Promise<ResultOf<'Any', D>> {
    return this.reduce('any', 'Any', axis, options);
  }

  /** 1 where no value over a side is 0, else 0. */
  all(axis: LazyAxis, options?: ReduceOptions<ResultOf<'All', D>>): Promise<ResultOf<'All', D>> {
    return this.reduce('all', 'All', axis, options);
  }

  /** How many values over a side are not 0. */
  count(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Count', D>>,
  ): Promise<ResultOf<'Count', D>> {
    return this.reduce('count', 'Count', axis, options);
  }

  /** The variances over a side, divided by the count: means of squared distances from the mean. Empty: NaN. */
  variance(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'Var', D>>,
  ): Promise<ResultOf<'Var', D>> {
    return this.reduce('variance', 'Var', axis, options);
  }

  /**
   * The logarithms of the sums of `e ^ this` over a side, or with a weight of `e ^ this * weight`, of its dim. This has dim 1.
   * Empty: -inf; NaN where the weighted total is negative.
   */
  async logSumExp(
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'LogSumExp', D>> & Pick<DescribeOptions, 'weight'>,
  ): Promise<ResultOf<'LogSumExp', D>> {
    const { weight, ...rest } = readOptions('logSumExp', options, LOG_SUM_EXP_OPTIONS);
    return this.reduce('logSumExp', 'LogSumExp', axis, rest, { weight });
  }

  /** The means of `weight` over a side with the weights `e ^ this`, of its dim. This has dim 1. Empty: NaN. */
  sumSoftMaxWeight(
    weight: LazyOperand,
    axis: LazyAxis,
    options?: ReduceOptions<ResultOf<'SumSoftMaxWeight', D>>,
  ): Promise<ResultOf<'SumSoftMaxWeight', D>> {
    return this.reduce('sumSoftMaxWeight', 'SumSoftMaxWeight', axis, options, { weight });
  }
}
