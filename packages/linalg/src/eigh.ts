import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { choice, orderOf, settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { columnOperand, matrixOperand } from './operand.js';
import {
  type CallOptions,
  type Infos,
  type TriangleOption,
  CALL_OPTIONS,
  TRIANGLE_OPTION,
} from './options.js';
import { assertOverwritable, withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** Options of eigh. */
export interface EighOptions extends CallOptions, TriangleOption {
  /** Write the eigenvectors into a's memory; `vectors` is another handle for it. */
  readonly overwriteA?: boolean | undefined;
}

const EIGH_OPTIONS: OptionNames<EighOptions> = {
  ...CALL_OPTIONS,
  ...TRIANGLE_OPTION,
  overwriteA: true,
};

/** Eigenvalues and eigenvectors of symmetric matrices. */
export interface Eigen<D extends LinalgDType> extends Infos {
  /** (..., n), ascending. */
  readonly values: Tensor<D>;
  /** (..., n, n): column j belongs to value j; columns are orthonormal, their signs are LAPACK's. */
  readonly vectors: Tensor<D>;
}

/**
 * Eigenvalues w and eigenvectors V of symmetric matrices, `a = V diag(w) V^T`: LAPACK's syevd.
 *
 * Shapes: a (..., n, n), values (..., n), vectors (..., n, n). float32 or float64, any strides. Only the triangle `uplo` is
 * read.
 *
 * infos: k > 0 where the iteration did not converge, -1 where that triangle holds NaN or infinity; values and vectors are NaN
 * there. |a V - V diag(w)| / |a| and |V^T V - I| are at most 30 n eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER waits inside
 * this call, which runs on threads of its own: there the promise resolves when the results are ready.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { eigh } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { values } = await eigh(await tensor([[2, 1], [1, 2]], { device: 'cpu', dtype: 'float64' }));
 * console.log((await values.toTypedArray()).map(Math.round)); // 1 and 3
 * ```
 */
export async function eigh<D extends LinalgDType>(
  a: Tensor<D>,
  options?: EighOptions,
): Promise<Eigen<D>> {
  const what = 'eigh';
  options = readOptions(what, options, EIGH_OPTIONS);
  const { stream, overwriteA = false } = options;
  const setting = settingOf(what, { a });
  const { batchShape } = setting;
  const n = orderOf(what, 'a', a);
  const upper = choice(what, 'uplo', options.uplo, ['lower', 'upper']) === 'upper';
  if (overwriteA) assertOverwritable(setting, 'a', a, []);
  return withOutputs(setting, stream, async (outputs) => {
    const values = outputs.matrix<D>(n);
    const infos = outputs.integers();
    const vectors = overwriteA ? outputs.alias(a) : outputs.matrix<D>(n, n);
    const args = {
      a: matrixOperand(a, batchShape),
      values: columnOperand(values, batchShape),
      vectors: matrixOperand(vectors, batchShape),
      infos,
      upper: Number(upper),
    };
    await runRoutine('eigh', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'converged', options);
    return { values, vectors, infos };
  });
}
