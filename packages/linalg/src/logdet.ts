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
import { routines } from './routines.js';
import { runRoutine } from './run-routine.js';

/** Options of logdet. */
export interface LogdetOptions extends CallOptions, FactorOption {}

const LOGDET_OPTIONS: OptionNames<LogdetOptions> = { ...CALL_OPTIONS, ...FACTOR_OPTION };

/** Determinants as sign and logarithm, `det a = sign exp(logAbs)`: one for each batch entry. */
export interface Logdet<D extends LinalgDType> extends Infos {
  /** 1, -1, or 0 for a singular matrix. */
  readonly sign: Tensor<D>;
  /** log |det a|; -Infinity for a singular matrix. */
  readonly logAbs: Tensor<D>;
}

/**
 * Sign and logarithm of the magnitude of determinants: from LU factors (LAPACK's getrf), or from Cholesky factors (potrf) with
 * `method: 'cholesky'`, where the sign is 1. The logarithms are summed in float64.
 *
 * Shapes: a (..., n, n); sign and logAbs have the batch axes alone. float32 or float64, any strides. An empty matrix has
 * determinant 1.
 *
 * infos: k > 0 where pivot k is exactly 0 (sign 0, logAbs -Infinity), or with Cholesky where the leading minor of order k is
 * not positive (NaN); -1 where a holds NaN or infinity (NaN).
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { logdet } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { sign, logAbs } = await logdet(await tensor([[0, 1], [1, 0]], { device: 'cpu' }));
 * console.log(await sign.toNested(), await logAbs.toNested()); // -1 0
 * ```
 */
export async function logdet<D extends LinalgDType>(
  a: Tensor<D>,
  options?: LogdetOptions,
): Promise<Logdet<D>> {
  const what = 'logdet';
  options = readOptions(what, options, LOGDET_OPTIONS);
  const { stream } = options;
  const setting = settingOf(what, { a });
  orderOf(what, 'a', a);
  const { flags, meaning } = factorChoice(what, options);
  return withOutputs(setting, stream, async (outputs) => {
    const sign = outputs.perEntry<D>();
    const logAbs = outputs.perEntry<D>();
    const infos = outputs.integers();
    const args = { a: matrixOperand(a, setting.batchShape), signs: sign, logs: logAbs, infos };
    await runRoutine(routines.logdet, setting, { ...args, ...flags }, options);
    if (options.checkErrors === true) await checkInfos(what, infos, meaning, options);
    return { sign, logAbs, infos };
  });
}
