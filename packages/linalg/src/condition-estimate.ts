import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import type { LinalgDType } from './checks.js';
import { factorChoice } from './factor-choice.js';
import { linalgFunction } from './linalg-operation.js';
import {
  type CallOptions,
  type FactorOption,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  CALL_OPTIONS,
  FACTOR_OPTION,
} from './options.js';

/** Options of conditionEstimate. */
export interface ConditionOptions<D extends LinalgDType> extends CallOptions, FactorOption {
  /** Where results go, by name. */
  readonly out?: ResultTargets<ConditionEstimate<D>> | undefined;
}

const CONDITION_OPTIONS: OptionNames<ConditionOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...FACTOR_OPTION,
  out: true,
};

/** Condition numbers, one for each batch entry. */
export interface ConditionEstimate<D extends LinalgDType> extends Infos {
  readonly condition: Tensor<D>;
}

/** How {@link conditionEstimate} is called. */
export interface ConditionEstimateFunction {
  <D extends LinalgDType>(
    a: Tensor<D>,
    options?: ConditionOptions<NoInfer<D>>,
  ): Promise<ConditionEstimate<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    options?: RoutinePrepareOptions<ConditionOptions<NoInfer<D>>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>], ConditionEstimate<D>>>;
}

/**
 * Estimates of condition numbers in the 1-norm, `|a|_1 |a^-1|_1`, from a factor and without the inverse: LAPACK's getrf and
 * gecon, or potrf and pocon with `method: 'cholesky'`. An estimate is never above the truth by more than rounding, and rarely
 * below a third of it.
 *
 * Shapes: a (..., n, n); condition has the batch axes alone. float32 or float64, any strides. An empty matrix has 0.
 *
 * infos: k > 0 where pivot k is exactly 0 (Infinity), or with Cholesky where the leading minor of order k is not positive
 * (NaN); -1 where a holds NaN or infinity (NaN).
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU the condition
 * number is that of the inverse itself, computed from the factor.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { conditionEstimate } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { condition } = await conditionEstimate(await tensor([[8, 0], [0, 2]], { device: 'cpu' }));
 * console.log(await condition.toNested()); // 4
 * ```
 */
export const conditionEstimate = linalgFunction<
  ConditionEstimateFunction,
  ConditionOptions<LinalgDType>
>(
  {
    what: 'conditionEstimate',
    matrices: ['a'],
    options: CONDITION_OPTIONS,
    results: ['condition', 'infos'],
    meaning: (options) => factorChoice('conditionEstimate', options).meaning,
    plan: (call, options) => {
      call.order();
      call.run('condition', {
        a: call.operand('a'),
        conditions: call.numbers('condition'),
        infos: call.integers('infos'),
        ...factorChoice(call.what, options).flags,
      });
    },
  },
  1,
);
