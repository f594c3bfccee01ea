import type { Tensor, TensorOperand } from '@mercer/tensor';
import { choice, type LinalgDType } from '../checks.js';
import { elementwise, product } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { FactorOption } from '../options.js';
import { turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';
import { SYMMETRIC_PART } from './formulas.js';

/** Options of invBackward: those of the forward call that matter. */
export interface InvBackwardOptions extends BackwardOptions, Pick<FactorOption, 'method'> {}

/** What inv left behind. */
export interface InvSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly inverse: T;
}

/** How {@link invBackward} is called. */
export interface InvBackward {
  <D extends LinalgDType>(
    gradient: TensorOperand<D>,
    saved: InvSaved<D, TensorOperand<NoInfer<D>>>,
    options?: InvBackwardOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradient: Tensor<D>,
    saved: InvSaved<NoInfer<D>>,
    options?: InvBackwardOptions,
  ) => Promise<
    PreparedGradients<[gradient: Tensor<D>, saved: InvSaved<NoInfer<D>>], readonly ['a'], D>
  >;
}

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
export const invBackward = linalgFunction<InvBackward, InvBackwardOptions>(
  {
    what: 'invBackward',
    options: { ...BACKWARD_OPTIONS, method: true },
    read: ([gradient, { inverse }]: readonly [Tensor, InvSaved<LinalgDType>]) => [
      { inverse, gradient },
    ],
    others: ['gradient'],
    results: ['a'],
    plan: (call, { method }) => {
      call.order();
      const given = call.tensor('inverse');
      assertLike(call.what, 'gradient', call.tensor('gradient'), given.shape, given);
      const cholesky = choice(call.what, 'method', method, ['lu', 'cholesky']) === 'cholesky';
      const back = turned(call.view('inverse'));
      const half = product(call, back, call.view('gradient'), { alpha: -1 });
      const into = call.result('a', given.shape);
      const x = product(call, half, back, { into: cholesky ? undefined : into });
      if (cholesky) elementwise(call, SYMMETRIC_PART, { x, turned: turned(x) }, { into });
    },
  },
  2,
);
