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

/** Options of slogdet. */
export interface SlogdetOptions extends CallOptions, FactorOption {}

const SLOGDET_OPTIONS: OptionNames<SlogdetOptions> = { ...CALL_OPTIONS, ...FACTOR_OPTION };

/** Determinants as sign and logarithm, `det a = sign exp(logAbsDet)`: one for each batch entry. */
export interface Slogdet<D extends LinalgDType> extends Infos {
  /** 1, -1, or 0 for a singular matrix. */
  readonly sign: Tensor<D>;
  /** log |det a|; -Infinity for a singular matrix. */
  readonly logAbsDet: Tensor<D>;
}

/**
 * Sign and logarithm of the magnitude of determinants, numpy's `linalg.slogdet`: from LU factors (LAPACK's getrf), or from
 * Cholesky factors (potrf) with `method: 'cholesky'`, where the sign is 1. The logarithms are summed in float64.
 *
 * Shapes: a (..., n, n); sign and logAbsDet have the batch axes alone. float32 or float64, any strides. An empty matrix has
 * determinant 1.
 *
 * infos: k > 0 where pivot k is exactly 0 (sign 0, logAbsDet -Infinity), or with Cholesky where the leading minor of order k is
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
 * import { slogdet } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { sign, logAbsDet } = await slogdet(await tensor([[0, 1], [1, 0]], { device: 'cpu' }));
 * console.log(await sign.toNested(), await logAbsDet.toNested()); // -1 0
 * ```
 */
export async function slogdet<D extends LinalgDType>(
  a: Tensor<D>,
  options?: SlogdetOptions,
): Promise<Slogdet<D>> {
  const what = 'slogdet';
  options = readOptions(what, options, SLOGDET_OPTIONS);
  const { stream } = options;
  const setting = settingOf(what, { a });
  orderOf(what, 'a', a);
  const { flags, meaning } = factorChoice(what, options);
  return withOutputs(setting, stream, async (outputs) => {
    const sign = outputs.perEntry<D>();
    const logAbsDet = outputs.perEntry<D>();
    const infos = outputs.integers();
    const args = { a: matrixOperand(a, setting.batchShape), signs: sign, logs: logAbsDet, infos };
    await runRoutine('logdet', setting, { ...args, ...flags }, options);
    if (options.checkErrors === true) await checkInfos(what, infos, meaning, options);
    return { sign, logAbsDet, infos };
  });
}
