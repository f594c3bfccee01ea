import { add, mul, variable } from '@mercer/formula';
import { own } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { elementwise, inverseOf } from '../compose.js';
import { factorChoice } from '../factor-choice.js';
import { linalgFunction } from '../linalg-operation.js';
import { FACTOR_OPTION, type FactorOption } from '../options.js';
import { asColumn, turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';

/** Options of logdetBackward. */
export interface LogdetBackwardOptions extends BackwardOptions, FactorOption {}

/** What logdet left behind: a, or its inverse where there is one already. */
export type LogdetSaved<D extends LinalgDType, T = Tensor<D>> =
  { readonly a: T; readonly inverse?: undefined } | { readonly inverse: T; readonly a?: undefined };

const [b, bTurned, g] = [variable('b'), variable('turned'), variable('g')];
const TURNED = mul(bTurned, g);
const SYMMETRIC = mul(mul(0.5, add(b, bTurned)), g);

/** How {@link logdetBackward} is called. */
export interface LogdetBackward {
  <D extends LinalgDType>(
    gradient: TensorOperand<D>,
    saved: LogdetSaved<D, TensorOperand<NoInfer<D>>>,
    options?: LogdetBackwardOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradient: Tensor<D>,
    saved: LogdetSaved<NoInfer<D>>,
    options?: LogdetBackwardOptions,
  ) => Promise<
    PreparedGradients<[gradient: Tensor<D>, saved: LogdetSaved<NoInfer<D>>], readonly ['a'], D>
  >;
}

/**
 * Gradient of `logdet(a)`: given `gradient` = dL/d(logAbs), returns dL/da, `gradient a^-T` (Giles 2008, section 2.2.4, for the
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
 * import { logdetBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[2, 0], [0, 4]], { device: 'cpu' });
 * const { a: da } = await logdetBackward(await tensor(1, { device: 'cpu' }), { a });
 * console.log(await da.toNested()); // [ [ 0.5, 0 ], [ 0, 0.25 ] ]
 * ```
 */
export const logdetBackward = linalgFunction<LogdetBackward, LogdetBackwardOptions>(
  {
    what: 'logdetBackward',
    options: { ...BACKWARD_OPTIONS, ...FACTOR_OPTION },
    read: ([gradient, saved]: readonly [Tensor, LogdetSaved<LinalgDType>]) => {
      const { a, inverse } = own(saved, 'a', 'inverse');
      return [inverse === undefined ? { a: a as Tensor, gradient } : { inverse, gradient }];
    },
    others: ['gradient'],
    results: ['a'],
    plan: (call, options) => {
      const { flags } = factorChoice(call.what, options);
      const name = call.has('inverse') ? 'inverse' : 'a';
      call.order();
      const given = call.tensor(name);
      assertLike(call.what, 'gradient', call.tensor('gradient'), given.shape.slice(0, -2), given);
      const view = call.view(name);
      const inverse = name === 'inverse' ? view : inverseOf(call, view, flags);
      const factor = asColumn(asColumn(call.view('gradient')));
      const inputs = { b: inverse, turned: turned(inverse), g: factor };
      const into = call.result('a', given.shape);
      elementwise(call, flags.cholesky === 1 ? SYMMETRIC : TURNED, inputs, { into });
    },
  },
  2,
);
