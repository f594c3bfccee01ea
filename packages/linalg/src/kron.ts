import type { OptionNames } from '@mercer/options';
import type { Pending, Tensor, WorkOptions } from '@mercer/tensor';
import { pending, readOptions, WORK_OPTIONS } from '@mercer/tensor/operation';
import { settingOf, type LinalgDType } from './checks.js';
import { matrixOperand } from './operand.js';
import { withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** Options of kron and kronMatvec. */
export interface KronOptions<D extends LinalgDType> extends WorkOptions {
  readonly out?: Tensor<D> | undefined;
}

/** Names of {@link KronOptions}. */
export const KRON_OPTIONS: OptionNames<KronOptions<LinalgDType>> = { ...WORK_OPTIONS, out: true };

/**
 * Kronecker products: `out[i r + k, j s + l] = a[i, j] b[k, l]` for b of r rows and s columns. To multiply one with a vector
 * use kronMatvec, which does not build it.
 *
 * Shapes: a (..., p, q), b (..., r, s), result (..., p r, q s). The leading batch axes broadcast. float32 or float64, the
 * same for both, any strides.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU one launch.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 *
 * @example
 * ```ts
 * import { kron } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * console.log(await (await kron(a, b)).toNested()); // [ [ 3, 6 ], [ 4, 8 ] ]
 * ```
 */
export function kron<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: KronOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  return pending(product(a, b, options));
}

async function product<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: KronOptions<NoInfer<D>>,
): Promise<Tensor<D>> {
  options = readOptions('kron', options, KRON_OPTIONS);
  const { out, stream } = options;
  const setting = settingOf('kron', { a, b });
  const { batchShape } = setting;
  const left = matrixOperand(a, batchShape);
  const right = matrixOperand(b, batchShape);
  const extents = [left.rows * right.rows, left.columns * right.columns];
  return withOutputs(setting, stream, async (outputs) => {
    const made = outputs.given(out, extents, [a, b]);
    const c = matrixOperand(made, batchShape);
    await runRoutine('kron', setting, { a: left, b: right, c }, options);
    return made;
  });
}
