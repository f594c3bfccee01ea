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
import { assertOverwritable, withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** Options of inv. */
export interface InvOptions<D extends LinalgDType> extends CallOptions, FactorOption {
  /** Write the inverse into a's memory; the result is another handle for it. `out` is not looked at then. */
  readonly overwriteA?: boolean | undefined;
  /** Where the inverse goes. */
  readonly out?: Tensor<D> | undefined;
}

const INV_OPTIONS: OptionNames<InvOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...FACTOR_OPTION,
  overwriteA: true,
  out: true,
};

/** Inverses of matrices. */
export interface InverseResult<D extends LinalgDType> extends Infos {
  /** (..., n, n) */
  readonly inverse: Tensor<D>;
}

/**
 * Inverses of square matrices, numpy's `linalg.inv`: LAPACK's getrf and getri, or potrf and potri with `method: 'cholesky'` for
 * symmetric positive definite ones, of which only the triangle `uplo` is read. To solve systems use solveLU and solveCholesky:
 * they are faster and more accurate.
 *
 * Shapes: a (..., n, n), inverse the same. float32 or float64, any strides.
 *
 * infos: k > 0 where pivot k is exactly 0, or with Cholesky where the leading minor of order k is not positive; -1 where a
 * holds NaN or infinity. The inverse is NaN there. |I - a^-1 a| / (|a| |a^-1|) is at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws SingularMatrixError, NotPositiveDefiniteError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { inv } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { inverse: b } = await inv(await tensor([[2, 0], [0, 4]], { device: 'cpu' }));
 * console.log(await b.toNested()); // [ [ 0.5, 0 ], [ 0, 0.25 ] ]
 * ```
 */
export async function inv<D extends LinalgDType>(
  a: Tensor<D>,
  options?: InvOptions<NoInfer<D>>,
): Promise<InverseResult<D>> {
  const what = 'inv';
  options = readOptions(what, options, INV_OPTIONS);
  const { stream, overwriteA = false, out } = options;
  const setting = settingOf(what, { a });
  const { batchShape } = setting;
  const n = orderOf(what, 'a', a);
  const { flags, meaning } = factorChoice(what, options);
  if (overwriteA) assertOverwritable(setting, 'a', a, []);
  return withOutputs(setting, stream, async (outputs) => {
    const made = overwriteA ? outputs.alias(a) : outputs.given(out, [n, n], [a]);
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      inverse: matrixOperand(made, batchShape),
      infos,
    };
    await runRoutine('inverse', setting, { ...args, ...flags }, options);
    if (options.checkErrors === true) await checkInfos(what, infos, meaning, options);
    return { inverse: made, infos };
  });
}
