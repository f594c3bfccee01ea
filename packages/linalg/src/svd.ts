import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { columnOperand, matrixOperand } from './operand.js';
import { type CallOptions, type Infos, CALL_OPTIONS } from './options.js';
import { withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** The singular value decomposition. */
export interface SingularValues<D extends LinalgDType> extends Infos {
  /** (..., m, k) with k = min(m, n): orthonormal columns. */
  readonly u: Tensor<D>;
  /** (..., k), descending, none negative. */
  readonly s: Tensor<D>;
  /** (..., k, n): orthonormal rows. */
  readonly vh: Tensor<D>;
}

/**
 * The reduced singular value decomposition `a = u diag(s) vh`, by divide and conquer: LAPACK's gesdd.
 *
 * Shapes: a (..., m, n), u (..., m, k), s (..., k), vh (..., k, n), k = min(m, n). float32 or float64, any strides.
 *
 * infos: k > 0 where the iteration did not converge, -1 where a holds NaN or infinity; the results are NaN there.
 * |a - u diag(s) vh| / |a|, |u^T u - I| and |vh vh^T - I| are at most 30 max(m, n) eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER waits inside
 * this call, which runs on threads of its own: there the promise resolves when the results are ready.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { svd } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { s } = await svd(await tensor([[3, 0], [0, -4]], { device: 'cpu' }));
 * console.log(await s.toNested()); // [ 4, 3 ]
 * ```
 */
export async function svd<D extends LinalgDType>(
  a: Tensor<D>,
  options?: CallOptions,
): Promise<SingularValues<D>> {
  const what = 'svd';
  options = readOptions(what, options, CALL_OPTIONS);
  const { stream } = options;
  const setting = settingOf(what, { a });
  const { batchShape } = setting;
  const [rows = 0, columns = 0] = a.shape.slice(-2);
  const few = Math.min(rows, columns);
  return withOutputs(setting, stream, async (outputs) => {
    const u = outputs.matrix<D>(rows, few);
    const s = outputs.matrix<D>(few);
    const vh = outputs.matrix<D>(few, columns);
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      u: matrixOperand(u, batchShape),
      s: columnOperand(s, batchShape),
      vh: matrixOperand(vh, batchShape),
      infos,
    };
    await runRoutine('svd', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'converged', options);
    return { u, s, vh, infos };
  });
}
