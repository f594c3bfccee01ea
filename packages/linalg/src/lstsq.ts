import { describeValue, own, type OptionNames } from '@mercer/options';
import { eye, MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  pendingOf,
  summedTo,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { EPSILON, type LinalgDType } from './checks.js';
import { asRow, floats, type Cotangents, type Named } from './derivative-parts.js';
import { linalgFunction } from './linalg-operation.js';
import { matmulOf } from './matmul.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type RoutinePrepareOptions,
  type ResultTargets,
  type RightHandSidesOption,
  CALL_OPTIONS,
  SIDES_OPTION,
} from './options.js';
import { rightHandSides } from './solve.js';
import { svd } from './svd.js';

/** Options of lstsq. */
export interface LstsqOptions<D extends LinalgDType> extends CallOptions, RightHandSidesOption {
  /**
   * Singular values up to this share of the largest count as 0, from 0 up to 1. Default: max(m, n) eps of the dtype.
   */
  readonly tolerance?: number | undefined;
  /** Where the solutions go, or results by name. */
  readonly out?: Tensor<D> | ResultTargets<LeastSquares<D>> | undefined;
}

const LSTSQ_OPTIONS: OptionNames<LstsqOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...SIDES_OPTION,
  tolerance: true,
  out: true,
};

/** Least squares solutions. */
export interface LeastSquares<D extends LinalgDType> extends Infos {
  /** (..., n, c), or (..., c, n) with right-hand sides in rows. */
  readonly x: Tensor<D>;
  /** How many singular values count; -1 where there is no solution. One for each batch entry. */
  readonly rank: Tensor<'int32'>;
  /** (..., min(m, n)), descending. */
  readonly singularValues: Tensor<D>;
}

/** How {@link lstsq} is called. */
export interface Lstsq {
  <D extends LinalgDType>(
    a: TensorOperand<D>,
    b: TensorOperand<NoInfer<D>>,
    options?: LstsqOptions<NoInfer<D>>,
  ): Promise<LeastSquares<D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: RoutinePrepareOptions<LstsqOptions<NoInfer<D>>>,
  ) => Promise<
    PreparedRoutine<
      [a: Tensor<D>, b: Tensor<NoInfer<D>>],
      Promise<LeastSquares<D>>,
      Tensor<D> | ResultTargets<LeastSquares<D>>
    >
  >;
}

/** See `lstsqBackward`. */
const derivative: DerivativeRule<
  readonly [a: KnownValue, b: KnownValue, options?: LstsqOptions<LinalgDType>]
> = {
  vjp: (g, { args: [a, b, options = {}], result }) => {
    const { x: upstream, singularValues } = g as unknown as Cotangents<'x' | 'singularValues'>;
    const ofValues = singularValues && (() => valuesSlope(a, singularValues));
    if (upstream === undefined) return [ofValues];
    const { x } = result as unknown as Named<'x'>;
    const batch = x.shape.slice(0, -2);
    const isRows = options.rightHandSides === 'rows';
    const turned = (one: Value): Value => (isRows ? one.transpose() : one);
    const slope = turned(upstream);
    const shared = once(() => turnedInverse(a, own(options, 'tolerance')));
    const back = once(async () => matmulOf(await shared(), slope));
    const ofA = async (): Promise<Tensor> => {
      const [inverse, y, solution] = [await shared(), await back(), turned(x)];
      const outer = (left: Value, right: Value): Value =>
        matmulOf(left, right, { transposeB: true });
      const residual = turned(b).sub(matmulOf(a, solution));
      const unseen = slope.sub(matmulOf(inverse, matmulOf(a, slope), { transposeA: true }));
      const whole = outer(residual, matmulOf(inverse, y, { transposeA: true }))
        .add(outer(matmulOf(inverse, solution), unseen))
        .sub(outer(y, solution));
      const share = summedTo(whole, [...batch, ...a.shape.slice(-2)], a.shape);
      return ofValues === undefined ? share : share.add(ofValues());
    };
    const ofB = async (): Promise<Tensor> =>
      summedTo(turned(await back()), [...batch, ...b.shape.slice(-2)], b.shape);
    return [() => pendingOf(ofA), () => pendingOf(ofB)];
  },
};

/** The share of a by its singular values, of which each entry of the batch of the solutions has its own. */
const valuesSlope = (a: KnownValue, slopes: KnownValue): Value =>
  pendingOf(async () => {
    const { u, vh } = await svd(floats(a));
    const whole = matmulOf(u.mul(floats(asRow(slopes))), vh);
    return summedTo(whole, [...slopes.shape.slice(0, -1), ...a.shape.slice(-2)], a.shape);
  });

/** The transposed pseudoinverse: solutions for the columns of the identity, of the system with fewer of them. */
async function turnedInverse(
  a: KnownValue,
  options: Pick<LstsqOptions<LinalgDType>, 'tolerance'>,
): Promise<Tensor> {
  const [rows = 0, columns = 0] = a.shape.slice(-2);
  const { dtype, device } = a;
  const isTall = rows >= columns;
  using identity = await eye(Math.min(rows, columns), { dtype, device });
  const matrix = isTall ? a.transpose() : a;
  const { x } = await lstsq(floats(await matrix), floats(identity), options);
  return isTall ? x : x.transpose();
}

/** A promise of what is computed when it is first asked for. */
function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= compute());
}

/**
 * The x of least norm among those that minimise `|a x - b|`, for matrices of any shape and rank, by singular values:
 * LAPACK's gelsd.
 *
 * Shapes: a (..., m, n), b (..., m, c) with the right-hand sides in its columns and x (..., n, c), or with
 * `rightHandSides: 'rows'` b (..., c, m) and x (..., c, n). The leading batch axes broadcast. float32 or float64, any strides.
 *
 * infos: k > 0 where the iteration did not converge, -1 where a or b holds NaN or infinity; the results are NaN there.
 *
 * Resolves when the work is enqueued, one task of the pool for each batch entry. On a GPU it follows from singular
 * values (cuSOLVER gesvd), and the promise resolves when those are there.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED, NO_BACKEND
 * @throws NoConvergenceError, NotFiniteError with `checkErrors`
 *
 * @example
 * ```ts
 * import { lstsq } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const line = await tensor([[0, 1], [1, 1], [2, 1]], { device: 'cpu', dtype: 'float64' });
 * const y = await tensor([[1], [3], [5]], { device: 'cpu', dtype: 'float64' });
 * const { x } = await lstsq(line, y);
 * console.log((await x.toTypedArray()).map(Math.round)); // Float64Array(2) [ 2, 1 ], the slope and the intercept
 * ```
 */
export const lstsq: Lstsq = linalgFunction<Lstsq, LstsqOptions<LinalgDType>>(
  {
    what: 'lstsq',
    matrices: ['a', 'b'],
    options: LSTSQ_OPTIONS,
    results: ['x', 'rank', 'singularValues', 'infos'],
    derivative,
    plan: (call, options) => {
      const sides = rightHandSides(call, options, false);
      const { a, b } = sides.operands;
      const { dtype } = call.setting;
      const least = Math.max(a.rows, a.columns, 1) * EPSILON[dtype];
      call.run('lstsq', {
        a,
        b,
        x: sides.solutions('x', a.columns),
        ranks: call.integers('rank'),
        singularValues: call.column('singularValues', Math.min(a.rows, a.columns)),
        infos: call.integers('infos'),
        tolerance: toleranceOf(options.tolerance ?? least),
      });
    },
  },
  2,
  true,
);

function toleranceOf(tolerance: number): number {
  if (Number.isFinite(tolerance) && tolerance >= 0 && tolerance < 1) return tolerance;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `lstsq: tolerance is ${describeValue(tolerance)}. It is a share of the largest singular value: pass a number from 0 up to 1.`,
  );
}
