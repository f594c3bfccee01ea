import { add, mul, variable } from '@mercer/formula';
import { own, type OptionNames } from '@mercer/options';
import { map, type Tensor } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { choice, orderOf, settingOf, type LinalgDType } from '../checks.js';
import { inv } from '../inv.js';
import { type FactorOption, FACTOR_OPTION } from '../options.js';
import { assertLike, batchOf } from './backward-checks.js';
import type { BackwardOptions, LinalgGradients } from './backward-options.js';

/** Options of slogdetBackward. */
export interface SlogdetBackwardOptions extends BackwardOptions, FactorOption {}

const SLOGDET_BACKWARD_OPTIONS: OptionNames<SlogdetBackwardOptions> = {
  ...WORK_OPTIONS,
  ...FACTOR_OPTION,
};

/** What slogdet left behind: a, or its inverse where there is one already. */
export type SlogdetSaved<D extends LinalgDType> =
  | { readonly a: Tensor<D>; readonly inverse?: undefined }
  | { readonly inverse: Tensor<D>; readonly a?: undefined };

const [b, turned, g] = [variable('b'), variable('turned'), variable('g')];
const TURNED = mul(turned, g);
const SYMMETRIC = mul(mul(0.5, add(b, turned)), g);

/**
 * Gradient of `slogdet(a)`: given `gradient` = dL/d(logAbsDet), returns dL/da, `gradient a^-T` (Giles 2008, section 2.2.4, for the
 * logarithm). The sign has derivative 0. With `method: 'cholesky'` a is symmetric and its triangle `uplo` is read; da is
 * symmetric: the derivative by an element of that triangle is da[i, i] on the diagonal and 2 da[i, j] beside it.
 *
 * Shapes: gradient has the batch axes alone, a and da (..., n, n). Singular matrices have NaN gradients.
 *
 * @param saved a, which is inverted by `method`, or its inverse
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { slogdetBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[2, 0], [0, 4]], { device: 'cpu' });
 * const { a: da } = await slogdetBackward(await tensor(1, { device: 'cpu' }), { a });
 * console.log(await da.toNested()); // [ [ 0.5, 0 ], [ 0, 0.25 ] ]
 * ```
 */
export async function slogdetBackward<D extends LinalgDType>(
  gradient: Tensor<D>,
  saved: SlogdetSaved<NoInfer<D>>,
  options?: SlogdetBackwardOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'slogdetBackward';
  options = readOptions(what, options, SLOGDET_BACKWARD_OPTIONS);
  const { uplo } = options;
  const within = workOf(options);
  const method = choice(what, 'method', options.method, ['lu', 'cholesky']);
  const given = own(saved, 'a', 'inverse');
  const matrix = (given.inverse ?? given.a) as Tensor<D>;
  const name = given.inverse === undefined ? 'a' : 'inverse';
  settingOf(what, { [name]: matrix });
  orderOf(what, name, matrix);
  assertLike(what, 'gradient', gradient, batchOf(matrix, 2), matrix);
  const made =
    given.inverse === undefined ? await inv(matrix, { method, uplo, ...within }) : undefined;
  made?.infos.dispose();
  using inverted = made?.inverse ?? matrix.view();
  using transposed = inverted.transpose();
  using factor = gradient.reshape([...gradient.shape, 1, 1]);
  const formula = method === 'cholesky' ? SYMMETRIC : TURNED;
  const inputs = { b: inverted, turned: transposed, g: factor };
  return { a: await map(formula, inputs, { dtype: matrix.dtype, ...within }) };
}
