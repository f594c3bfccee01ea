import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { orderOf, settingOf, type LinalgDType } from './checks.js';
import { factorChoice } from './factor-choice.js';
import { checkInfos } from './infos.js';
import { matrixOperand } from './operand.js';
import {
  type CallOptions,
  type FactorOption,
  type Infos,
  CALL_OPTIONS,
  FACTOR_OPTION,
} from './options.js';
import { withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** Options of conditionEstimate. */
export interface ConditionOptions extends CallOptions, FactorOption {}

const CONDITION_OPTIONS: OptionNames<ConditionOptions> = { ...CALL_OPTIONS, ...FACTOR_OPTION };

/** Condition numbers, one for each batch entry. */
export interface ConditionEstimate<D extends LinalgDType> extends Infos {
  readonly condition: Tensor<D>;
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
export async function conditionEstimate<D extends LinalgDType>(
  a: Tensor<D>,
  options?: ConditionOptions,
): Promise<ConditionEstimate<D>> {
  const what = 'conditionEstimate';
  options = readOptions(what, options, CONDITION_OPTIONS);
  const { stream } = options;
  const setting = settingOf(what, { a });
  orderOf(what, 'a', a);
  const { flags, meaning } = factorChoice(what, options);
  return withOutputs(setting, stream, async (outputs) => {
    const condition = outputs.perEntry<D>();
    const infos = outputs.integers();
    const args = { a: matrixOperand(a, setting.batchShape), conditions: condition, infos };
    await runRoutine('condition', setting, { ...args, ...flags }, options);
    if (options.checkErrors === true) await checkInfos(what, infos, meaning, options);
    return { condition, infos };
  });
}
