import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { product, summed } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import { factorsOf, hostOf, oriented, type MatmulOptions } from '../matmul.js';
import type { WrtOption } from '../options.js';
import { precisionOf } from '../precision.js';
import { turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';
import type { SolveInputs } from './solve-backward.js';

/** The operands of a product. */
export interface ProductSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly a: T;
  readonly b: T;
}

/** Options of matmulBackward: those of the forward call that matter, and what is wanted. */
export interface MatmulBackwardOptions<W extends SolveInputs>
  extends
    BackwardOptions<W>,
    WrtOption<W>,
    Pick<
      MatmulOptions<LinalgDType>,
      'alpha' | 'transposeA' | 'transposeB' | 'precision' | 'device' | 'maxBytes'
    > {}

/** How {@link matmulBackward} is called. */
export interface MatmulBackward {
  <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: TensorOperand<D>,
    saved: ProductSaved<D, TensorOperand<NoInfer<D>>>,
    options?: MatmulBackwardOptions<W>,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: Tensor<D>,
    saved: ProductSaved<NoInfer<D>>,
    options?: MatmulBackwardOptions<W>,
  ) => Promise<PreparedGradients<[gradient: Tensor<D>, saved: ProductSaved<NoInfer<D>>], W, D>>;
}

/**
 * Gradients of `matmul(a, b)`: given `gradient` = dL/d(result), returns dL/da, `alpha gradient op(b)^T`, and dL/db,
 * `alpha op(a)^T gradient`, each turned round where its operand was (Giles 2008, section 2.2.2). The gradient of what `out` held
 * before, where beta is not 0, is `beta gradient`. `precision`, `device` and `maxBytes` say how these products are computed, as they do
 * for `matmul`.
 *
 * Shapes: gradient (..., m, n); da has a's shape and db has b's: over axes that were broadcast they are summed.
 *
 * @param saved a and b of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { matmulBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const { a: da, b: db } = await matmulBackward(await tensor([[1]], { device: 'cpu' }), { a, b });
 * console.log(await da.toNested(), await db.toNested()); // [ [ 3, 4 ] ] [ [ 1 ], [ 2 ] ]
 * ```
 */
export const matmulBackward = linalgFunction<MatmulBackward, MatmulBackwardOptions<SolveInputs>>(
  {
    what: 'matmulBackward',
    options: {
      ...BACKWARD_OPTIONS,
      wrt: true,
      alpha: true,
      transposeA: true,
      transposeB: true,
      precision: true,
      device: true,
      maxBytes: true,
    },
    read: ([gradient, { a, b }]: readonly [Tensor, ProductSaved<LinalgDType>]) => [
      { a, b, gradient },
    ],
    others: ['gradient'],
    results: ['a', 'b'],
    waiting: ['device', 'maxBytes'],
    key: ({ device, maxBytes }) =>
      device === undefined && maxBytes === undefined ? '' : undefined,
    plan: (call, options) => {
      const { what, setting } = call;
      const [left, right] = oriented(call, options);
      const { batchShape } = setting;
      const a = call.tensor('a');
      assertLike(
        what,
        'gradient',
        call.tensor('gradient'),
        [...batchShape, left.rows, right.columns],
        a,
      );
      const { alpha } = factorsOf(what, { alpha: options.alpha, beta: undefined, out: undefined });
      const { transposeA = false, transposeB = false } = options;
      const precision = precisionOf(setting, options.precision);
      const how = { alpha, precision, host: hostOf(setting, options) };
      const g = call.view('gradient');
      const [viewA, viewB] = [call.view('a'), call.view('b')];
      const gradients = {
        a: { is: transposeA, factors: [g, turned(transposeB ? turned(viewB) : viewB)] as const },
        b: { is: transposeB, factors: [turned(transposeA ? turned(viewA) : viewA), g] as const },
      };
      for (const name of ['a', 'b'] as const) {
        if (!call.wants(name)) continue;
        const { shape } = call.tensor(name);
        const to = call.result(name, shape);
        const { is: isTurned, factors } = gradients[name];
        summed(call, [...batchShape, ...shape.slice(-2)], to, (into) => {
          product(call, ...factors, { ...how, into: isTurned ? turned(into) : into });
        });
      }
    },
  },
  2,
);
