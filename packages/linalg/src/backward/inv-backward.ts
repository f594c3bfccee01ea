import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { choice, orderOf, settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import type { FactorOption } from '../options.js';
import { assertLike } from './backward-checks.js';
import type { BackwardOptions, LinalgGradients } from './backward-options.js';
import { symmetricPart } from './shape-gradient.js';

/** Options of invBackward. */
export interface InvBackwardOptions extends BackwardOptions, Pick<FactorOption, 'method'> {}

const INV_BACKWARD_OPTIONS: OptionNames<InvBackwardOptions> = {
  ...WORK_OPTIONS,
  method: true,
};

/**
 * Gradient of `inv(a)`: given `gradient` = dL/d(a^-1), returns dL/da, `-a^-T gradient a^-T` (Giles 2008, section 2.2.3).
 * With `method: 'cholesky'`, where the forward call read one triangle of a symmetric matrix, its symmetric part: the derivative
 * by an element of that triangle is da[i, i] on the diagonal and 2 da[i, j] beside it.
 *
 * Shapes: gradient, inverse and da (..., n, n). Singular matrices have NaN gradients.
 *
 * @param saved the inverse
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { inv, invBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const saved = await inv(await tensor([[2]], { device: 'cpu' }));
 * const upstream = await tensor([[1]], { device: 'cpu' });
 * const { a: da } = await invBackward(upstream, saved);
 * console.log(await da.toNested()); // [ [ -0.25 ] ]
 * ```
 */
export async function invBackward<D extends LinalgDType>(
  gradient: Tensor<D>,
  { inverse }: { readonly inverse: Tensor<NoInfer<D>> },
  options?: InvBackwardOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'invBackward';
  options = readOptions(what, options, INV_BACKWARD_OPTIONS);
  const within = workOf(options);
  settingOf(what, { inverse });
  orderOf(what, 'inverse', inverse);
  assertLike(what, 'gradient', gradient, inverse.shape, inverse);
  const method = choice(what, 'method', options.method, ['lu', 'cholesky']);
  using half = await matmul(inverse, gradient, { transposeA: true, alpha: -1, ...within });
  const whole = await matmul(half, inverse, { transposeB: true, ...within });
  if (method === 'lu') return { a: whole };
  using product = whole;
  return { a: await symmetricPart(product, within) };
}
