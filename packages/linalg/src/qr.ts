import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { settingOf, type LinalgDType } from './checks.js';
import { checkInfos } from './infos.js';
import { matrixOperand } from './operand.js';
import { type CallOptions, type Infos, CALL_OPTIONS } from './options.js';
import { withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** QR factors. */
export interface QrFactors<D extends LinalgDType> extends Infos {
  /** (..., m, k) with k = min(m, n): orthonormal columns. */
  readonly q: Tensor<D>;
  /** (..., k, n): zeros below the diagonal; the diagonal's signs are LAPACK's. */
  readonly r: Tensor<D>;
}

/**
 * The reduced factors of `a = q r` by Householder reflections: LAPACK's geqrf and orgqr.
 *
 * Shapes: a (..., m, n), q (..., m, k), r (..., k, n), k = min(m, n). float32 or float64, any strides.
 *
 * infos: -1 where a holds NaN or infinity; q and r are NaN there. |a - q r| / |a| and |q^T q - I| are at most
 * 30 max(m, n) eps.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU cuSOLVER factors the
 * matrices on several streams; it can be captured in a graph.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { qr } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const { q, r } = await qr(await tensor([[3, 1], [4, 2], [0, 5]], { device: 'cpu' }));
 * console.log(q.shape, r.shape); // [ 3, 2 ] [ 2, 2 ]
 * ```
 */
export async function qr<D extends LinalgDType>(
  a: Tensor<D>,
  options?: CallOptions,
): Promise<QrFactors<D>> {
  const what = 'qr';
  options = readOptions(what, options, CALL_OPTIONS);
  const { stream } = options;
  const setting = settingOf(what, { a });
  const { batchShape } = setting;
  const [rows = 0, columns = 0] = a.shape.slice(-2);
  const few = Math.min(rows, columns);
  return withOutputs(setting, stream, async (outputs) => {
    const q = outputs.matrix<D>(rows, few);
    const r = outputs.matrix<D>(few, columns);
    const infos = outputs.integers();
    const args = {
      a: matrixOperand(a, batchShape),
      q: matrixOperand(q, batchShape),
      r: matrixOperand(r, batchShape),
      infos,
    };
    await runRoutine('qr', setting, args, options);
    if (options.checkErrors === true) await checkInfos(what, infos, 'converged', options);
    return { q, r, infos };
  });
}
