import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import { flattened, product, summed } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { WrtOption } from '../options.js';
import { split, turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
} from './backward-options.js';
import type { ProductSaved } from './matmul-backward.js';
import type { SolveInputs } from './solve-backward.js';

/** Options of kronBackward. */
export interface KronBackwardOptions<W extends SolveInputs>
  extends BackwardOptions<W>, WrtOption<W> {}

/** How {@link kronBackward} is called. */
export interface KronBackward {
  <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: TensorOperand<D>,
    saved: ProductSaved<D, TensorOperand<NoInfer<D>>>,
    options?: KronBackwardOptions<W>,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: Tensor<D>,
    saved: ProductSaved<NoInfer<D>>,
    options?: KronBackwardOptions<W>,
  ) => Promise<PreparedGradients<[gradient: Tensor<D>, saved: ProductSaved<NoInfer<D>>], W, D>>;
}

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
export const kronBackward = linalgFunction<KronBackward, KronBackwardOptions<SolveInputs>>(
  {
    what: 'kronBackward',
    options: { ...BACKWARD_OPTIONS, wrt: true },
    read: ([gradient, { a, b }]: readonly [Tensor, ProductSaved<LinalgDType>]) => [
      { a, b, gradient },
    ],
    others: ['gradient'],
    results: ['a', 'b'],
    plan: (call) => {
      const { batchShape } = call.setting;
      const extents = (name: string): number[] => [...call.tensor(name).shape.slice(-2)];
      const [[p = 0, q = 0], [r = 0, s = 0]] = [extents('a'), extents('b')];
      const whole = [...batchShape, p * r, q * s];
      assertLike(call.what, 'gradient', call.tensor('gradient'), whole, call.tensor('a'));
      const da = call.wants('a') ? call.rowMajorResult('a', call.tensor('a').shape) : undefined;
      const db = call.wants('b') ? call.rowMajorResult('b', call.tensor('b').shape) : undefined;
      const pairs = pairsOf(split(split(call.view('gradient'), -1, q, s), -3, p, r));
      const g = flattened(call, flattened(call, pairs, -4), -2);
      const vector = (name: string): CallView => {
        const row = flattened(call, call.view(name), -2);
        return { ...row, shape: [...row.shape, 1], strides: [...row.strides, 1] };
      };
      const asVector = (into: CallView): CallView => {
        const [rows = 0, columns = 0] = into.shape.slice(-2);
        const shape = [...into.shape.slice(0, -2), rows * columns, 1];
        return { ...into, shape, strides: [...into.strides.slice(0, -2), 1, 1] };
      };
      if (da !== undefined) {
        summed(call, [...batchShape, p, q], da, (into) => {
          product(call, g, vector('b'), { into: asVector(into) });
        });
      }
      if (db !== undefined) {
        summed(call, [...batchShape, r, s], db, (into) => {
          product(call, turned(g), vector('a'), { into: asVector(into) });
        });
      }
    },
  },
  2,
);

/** The gradient (..., p, r, q, s) as (..., p, q, r, s). */
function pairsOf(view: CallView): CallView {
  const order = (list: readonly number[]): number[] => {
    const [p = 0, r = 0, q = 0, s = 0] = list.slice(-4);
    return [...list.slice(0, -4), p, q, r, s];
  };
  return { ...view, shape: order(view.shape), strides: order(view.strides) };
}
