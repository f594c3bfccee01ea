import type { OptionNames } from '@mercer/options';
import type { LoadOptions, Pending, Tensor, WorkOptions, TensorOperand } from '@mercer/tensor';
import {
  differentiable,
  inFront,
  LOAD_OPTIONS,
  operationFunction,
  summedTo,
  WORK_OPTIONS,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import type { LinalgDType } from './checks.js';
import { linalgOperation } from './linalg-operation.js';
import type { PreparedRoutine } from './options.js';

/** Options of kron and kronMatvec. */
export interface KronOptions<D extends LinalgDType> extends WorkOptions, LoadOptions {
  readonly out?: Tensor<D> | undefined;
}

/** Names of {@link KronOptions}. */
export const KRON_OPTIONS: OptionNames<KronOptions<LinalgDType>> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  out: true,
};

/** How {@link kron} is called. */
export interface Kron {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    options?: KronOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: KronOptions<NoInfer<D>>,
  ) => Promise<PreparedRoutine<[a: Tensor<D>, b: Tensor<NoInfer<D>>], Tensor<D>, Tensor<D>>>;
}

/** Sums of products over the axes of the other factor. */
const derivative: DerivativeRule<readonly [a: KnownValue, b: KnownValue]> = {
  vjp: (g, { args: [a, b], result }) => {
    const batch = result.shape.slice(0, -2);
    const [[p = 0, q = 0], [r = 0, s = 0]] = [a.shape.slice(-2), b.shape.slice(-2)];
    const blocks = (): Value => g.contiguous().reshape([...batch, p, r, q, s]);
    const among = (x: KnownValue, ...axes: readonly number[]): Value =>
      x.contiguous().reshape([...x.shape.slice(0, -2), ...axes]);
    const ofA = (): Value =>
      blocks()
        .mul(among(b, 1, r, 1, s))
        .sum([-3, -1]);
    const ofB = (): Value =>
      blocks()
        .mul(among(a, p, 1, q, 1))
        .sum([-4, -2]);
    return [
      () => summedTo(ofA(), [...batch, p, q], a.shape),
      () => summedTo(ofB(), [...batch, r, s], b.shape),
    ];
  },
};

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
export const kron: Kron = differentiable(
  'kron',
  operationFunction(
    linalgOperation<KronOptions<LinalgDType>>({
      what: 'kron',
      matrices: ['a', 'b'],
      options: KRON_OPTIONS,
      results: ['c'],
      plan: (call) => {
        const [a, b] = [call.operand('a'), call.operand('b')];
        call.run('kron', { a, b, c: call.matrix('c', a.rows * b.rows, a.columns * b.columns) });
      },
    }),
    2,
  ),
  derivative,
  inFront(2),
  'one call',
);
