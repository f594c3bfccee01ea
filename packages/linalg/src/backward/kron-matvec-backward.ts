import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { assertTensor, WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
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

/** The inputs of kronMatvec by name. */
export type KronMatvecInputs = readonly ('a' | 'b' | 'x')[];

/** Options of kronMatvecBackward. */
export interface KronMatvecBackwardOptions<W extends KronMatvecInputs>
  extends BackwardOptions, WrtOption<W> {}

const KRON_MATVEC_BACKWARD_OPTIONS: OptionNames<KronMatvecBackwardOptions<KronMatvecInputs>> = {
  ...WORK_OPTIONS,
  wrt: true,
};

/** The inputs of the forward call. */
export interface KronMatvecSaved<D extends LinalgDType> {
  readonly a: Tensor<D>;
  readonly b: Tensor<D>;
  readonly x: Tensor<D>;
}

/**
 * Gradients of `kronMatvec(a, b, x)`: given `gradient` = dL/dy, returns dL/da, dL/db and dL/dx without the Kronecker product.
 * With the gradient read as a matrix G of p rows and x as a matrix X of q rows, row by row, so that `Y = a X b^T`: da is
 * `G b X^T`, db is `G^T a X` and dx is `a^T G b` (Giles 2008, section 2.2.2).
 *
 * Shapes: gradient (..., p r), a (..., p, q), b (..., r, s), x (..., q s); every gradient has its input's shape: over axes that
 * were broadcast it is summed.
 *
 * @param saved a, b and x of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { kronMatvecBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const x = await tensor([1, 10], { device: 'cpu' });
 * const upstream = await tensor([1, 0], { device: 'cpu' });
 * const { x: dx } = await kronMatvecBackward(upstream, { a, b, x }, { wrt: ['x'] });
 * console.log(await dx.toNested()); // [ 3, 6 ]
 * ```
 */
export async function kronMatvecBackward<
  D extends LinalgDType,
  const W extends KronMatvecInputs = readonly ['a', 'b', 'x'],
>(
  gradient: Tensor<D>,
  { a, b, x }: KronMatvecSaved<NoInfer<D>>,
  options?: KronMatvecBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const what = 'kronMatvecBackward';
  options = readOptions(what, options, KRON_MATVEC_BACKWARD_OPTIONS);
  const within = workOf(options);
  const wanted = wantedOf(what, options, ['a', 'b', 'x']);
  settingOf(what, { a, b });
  assertTensor(x, `${what}: x`);
  const [p = 0, q = 0] = a.shape.slice(-2);
  const [r = 0, s = 0] = b.shape.slice(-2);
  if (x.shape.at(-1) !== q * s) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: x is ${x.label}, and a kron b has ${q * s} columns. Pass the x of the forward call.`,
    );
  }
  using packed = await x.contiguous(within);
  using matrix = packed.reshape([...x.shape.slice(0, -1), q, s]);
  const { batchShape } = settingOf(what, { a, b, x: matrix });
  assertLike(what, 'gradient', gradient, [...batchShape, p * r], a);
  using packedGradient = await gradient.contiguous(within);
  using g = packedGradient.reshape([...batchShape, p, r]);
  const gradients: { a?: Tensor<D>; b?: Tensor<D>; x?: Tensor<D> } = {};
  try {
    if (wanted.has('b')) {
      using right = await matmul(a, matrix, within);
      const whole = await matmul(g, right, { transposeA: true, ...within });
      gradients.b = await summedTo(whole, b.shape, within);
    }
    if (!wanted.has('a') && !wanted.has('x')) return gradients as LinalgGradients<W, D>;
    using left = await matmul(g, b, within);
    if (wanted.has('a')) {
      const whole = await matmul(left, matrix, { transposeB: true, ...within });
      gradients.a = await summedTo(whole, a.shape, within);
    }
    if (wanted.has('x')) {
      const whole = await matmul(a, left, { transposeA: true, ...within });
      using sum = await summedTo(whole, matrix.shape, within);
      gradients.x = sum.reshape(x.shape);
    }
  } catch (error) {
    gradients.a?.dispose();
    gradients.b?.dispose();
    throw error;
  }
  return gradients as LinalgGradients<W, D>;
}
