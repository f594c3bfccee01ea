import { ops } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import { nodeAt } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyExtrema } from './lazy-extrema.js';
import type { LazyOperand } from './lazy-formula.js';
import { checkAxis, type AxisOrDim, type DescribeOptions } from './lazy-reducible.js';
import { matrixInput } from './make-input.js';
import type { LazyAxis, ReduceOptions, ResultOf } from './reduction-types.js';
import { combine } from './symbolic.js';
import { checkBound } from './transforms.js';

/** Sums, means and their like over a side of a matrix that is never stored. */
export abstract class LazyReductions<D extends LazyDType = LazyDType> extends LazyExtrema<D> {
  /** The sum of all components, dim 1, still symbolic; or the sums over a side, (..batch, rows, dim). */
  sum(axis?: 'dim'): this;
  sum(axis: LazyAxis, options?: ReduceOptions<ResultOf<'Sum', D>>): Promise<ResultOf<'Sum', D>>;
  sum(
    axis: AxisOrDim = 'dim',
    options: ReduceOptions<ResultOf<'Sum', D>> = {},
  ): this | Promise<ResultOf<'Sum', D>> {
    return this.either('sum', 'Sum', axis, options);
  }

  /** The products over a side; empty: 1. */
  prod(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Prod', D>> = {},
  ): Promise<ResultOf<'Prod', D>> {
    return this.reduce('prod', 'Prod', axis, options);
  }

  /** The means over a side; empty: NaN. */
  mean(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Mean', D>> = {},
  ): Promise<ResultOf<'Mean', D>> {
    return this.reduce('mean', 'Mean', axis, options);
  }

  /** 1 where a value over a side is not 0, else 0. */
  any(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Any', D>> = {},
  ): Promise<ResultOf<'Any', D>> {
    return this.reduce('any', 'Any', axis, options);
  }

  /** 1 where no value over a side is 0, else 0. */
  all(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'All', D>> = {},
  ): Promise<ResultOf<'All', D>> {
    return this.reduce('all', 'All', axis, options);
  }

  /** How many values over a side are not 0. */
  count(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'Count', D>> = {},
  ): Promise<ResultOf<'Count', D>> {
    return this.reduce('count', 'Count', axis, options);
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
    return await this.derive('variance', squares).mean(axis, options);
  }

  /**
   * The logarithms of the sums of `e ^ this` over a side, or with a weight of `e ^ this * weight`, of its dim. This has dim 1.
   * Empty: -inf; NaN where the weighted total is negative.
   */
  logSumExp(
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'LogSumExp', D>> & Pick<DescribeOptions, 'weight'> = {},
  ): Promise<ResultOf<'LogSumExp', D>> {
    return this.reduce('logSumExp', 'LogSumExp', axis, options);
  }

  /** The means of `weight` over a side with the weights `e ^ this`, of its dim. This has dim 1. Empty: NaN. */
  sumSoftMaxWeight(
    weight: LazyOperand,
    axis: LazyAxis,
    options: ReduceOptions<ResultOf<'SumSoftMaxWeight', D>> = {},
  ): Promise<ResultOf<'SumSoftMaxWeight', D>> {
    return this.reduce('sumSoftMaxWeight', 'SumSoftMaxWeight', axis, { ...options, weight });
  }
}
