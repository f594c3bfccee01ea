import type { OptionNames } from '@mercer/options';
import type { Tensor, WorkOptions } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { assertLike } from './backward-checks.js';
import {
  wantedOf,
  type BackwardOptions,
  type LinalgGradients,
  type WrtOption,
} from './backward-options.js';
import { summedTo } from './shape-gradient.js';
import type { SolveInputs } from './solve-backward.js';

/** Options of kronBackward. */
export interface KronBackwardOptions<W extends SolveInputs> extends BackwardOptions, WrtOption<W> {}

const KRON_BACKWARD_OPTIONS: OptionNames<KronBackwardOptions<SolveInputs>> = {
  ...WORK_OPTIONS,
  wrt: true,
};

/**
 * Gradients of `kron(a, b)`: given `gradient` = dL/d(result), returns dL/da and dL/db. With G[(i, j), (k, l)] the gradient of
 * a[i, j] b[k, l], da is `G vec(b)` and db is `G^T vec(a)`; G is a rearranged copy of the gradient.
 *
 * Shapes: gradient (..., p r, q s), a (..., p, q), b (..., r, s); da has a's shape and db has b's: over axes that were broadcast
 * they are summed.
 *
 * @param saved a and b of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { kronBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const upstream = await tensor([[1, 0], [0, 1]], { device: 'cpu' }); // of a[0] b[0] + a[1] b[1]
 * const { a: da, b: db } = await kronBackward(upstream, { a, b });
 * console.log(await da.toNested(), await db.toNested()); // [ [ 3, 4 ] ] [ [ 1 ], [ 2 ] ]
 * ```
 */
export async function kronBackward<
  D extends LinalgDType,
  const W extends SolveInputs = readonly ['a', 'b'],
>(
  gradient: Tensor<D>,
  { a, b }: { readonly a: Tensor<NoInfer<D>>; readonly b: Tensor<NoInfer<D>> },
  options?: KronBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const what = 'kronBackward';
  options = readOptions(what, options, KRON_BACKWARD_OPTIONS);
  const within = workOf(options);
  const wanted = wantedOf(what, options, ['a', 'b']);
  const { batchShape } = settingOf(what, { a, b });
  const [p = 0, q = 0] = a.shape.slice(-2);
  const [r = 0, s = 0] = b.shape.slice(-2);
  assertLike(what, 'gradient', gradient, [...batchShape, p * r, q * s], a);
  const gradients: { a?: Tensor<D>; b?: Tensor<D> } = {};
  using g = await pairsOf(gradient, [p, r, q, s], within);
  try {
    if (wanted.has('a')) {
      using vector = await vectorOf(b, within);
      using product = await matmul(g, vector, within);
      const whole = product.reshape([...batchShape, p, q]);
      gradients.a = await summedTo(whole, a.shape, within);
    }
    if (wanted.has('b')) {
      using vector = await vectorOf(a, within);
      using product = await matmul(g, vector, { transposeA: true, ...within });
      const whole = product.reshape([...batchShape, r, s]);
      gradients.b = await summedTo(whole, b.shape, within);
    }
  } catch (error) {
    gradients.a?.dispose();
    throw error;
  }
  return gradients as LinalgGradients<W, D>;
}

/** The gradient (..., p r, q s) as a row-major (..., p q, r s). */
async function pairsOf<D extends LinalgDType>(
  gradient: Tensor<D>,
  [p, r, q, s]: readonly [number, number, number, number],
  within: WorkOptions,
): Promise<Tensor<D>> {
  const batch = gradient.shape.slice(0, -2);
  using packed = await gradient.contiguous(within);
  using apart = packed.reshape([...batch, p, r, q, s]);
  const first = batch.length;
  const axes = [...batch.keys(), first, first + 2, first + 1, first + 3];
  using turned = apart.permute(axes);
  using pairs = await turned.contiguous(within);
  return pairs.reshape([...batch, p * q, r * s]);
}

/** The elements of matrices, row by row, as one column. */
async function vectorOf<D extends LinalgDType>(
  x: Tensor<D>,
  within: WorkOptions,
): Promise<Tensor<D>> {
  const [rows = 0, columns = 0] = x.shape.slice(-2);
  using packed = await x.contiguous(within);
  return packed.reshape([...x.shape.slice(0, -2), rows * columns, 1]);
}
