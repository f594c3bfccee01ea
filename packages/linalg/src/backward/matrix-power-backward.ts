import { add, max, variable, type RealExpr } from '@mercer/formula';
import { describeValue, own } from '@mercer/options';
import { MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import { choice, type LinalgDType } from '../checks.js';
import { eigenvectorsOf, elementwise, product } from '../compose.js';
import { dividedDifference } from '../divided-difference.js';
import { linalgFunction } from '../linalg-operation.js';
import { TRIANGLE_OPTION, type TriangleOption } from '../options.js';
import { asColumn, asRow, turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LaterGradients,
  type LinalgGradients,
} from './backward-options.js';
import type { EighSaved } from './eigh-backward.js';
import { SYMMETRIC_PART } from './formulas.js';
import { reportDegenerate, type SpectrumOptions } from './spectrum.js';

/** What matrixPower left behind: a, or instead of it the eigenvalues and vectors that eigh gives of it. */
export type MatrixPowerSaved<D extends LinalgDType, T = Tensor<D>> =
  | ({ readonly a: T } & { readonly [K in keyof EighSaved<D>]?: undefined })
  | (EighSaved<D, T> & { readonly a?: undefined });

/** Options of matrixPowerBackward. */
export interface MatrixPowerBackwardOptions
  extends BackwardOptions, TriangleOption, Pick<SpectrumOptions, 'onDegenerate'> {
  /** As in the forward call. */
  readonly eps?: number | undefined;
}

/** An eigenvalue of a + eps I; what is negative by rounding counts as 0. */
const shifted = (w: string): RealExpr => add(max(variable(w), 0), variable('eps'));
const [a, b] = [shifted('wi'), shifted('wj')];
const DIVIDED = dividedDifference(a, b, a);

/** How {@link matrixPowerBackward} is called. */
export interface MatrixPowerBackward {
  <D extends LinalgDType>(
    gradient: TensorOperand<D>,
    saved: MatrixPowerSaved<D, TensorOperand<NoInfer<D>>>,
    exponent: number,
    options?: MatrixPowerBackwardOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType>(
    gradient: Tensor<D>,
    saved: MatrixPowerSaved<NoInfer<D>>,
    exponent: number,
    options?: MatrixPowerBackwardOptions,
  ) => Promise<
    LaterGradients<
      [gradient: Tensor<D>, saved: MatrixPowerSaved<NoInfer<D>>, exponent: number],
      readonly ['a'],
      D
    >
  >;
}

/**
 * Gradient of `matrixPower(a, power)`, whichever method the forward call took: given `gradient` = dL/d(result), returns dL/da,
 * the symmetric part of `V (P o (V^T gradient V)) V^T` with the divided differences of `f(w) = (w + eps)^power` over the
 * eigenvalues, `P[i, j] = (f(w[i]) - f(w[j])) / (w[i] - w[j])` and `P[i, i] = f'(w[i])` (Daleckii and Krein 1965; Higham 2008,
 * "Functions of matrices", theorem 3.11). Equal and nearly equal eigenvalues lose no accuracy.
 *
 * da is symmetric: the derivative by an element of the triangle that the forward call read is da[i, i] on the diagonal and
 * 2 da[i, j] beside it. Pairs of eigenvalues that are both 0 with eps added have no derivative for powers between 0 and 1: their
 * terms are 0, never NaN, and `onDegenerate` tells. A matrix without a power has a NaN gradient.
 *
 * Shapes: gradient, a and da (..., n, n).
 *
 * @param saved a, whose eigenvalues are computed from its triangle `uplo`, or its eigenvalues and vectors
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { matrixPowerBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[4, 0], [0, 4]], { device: 'cpu', dtype: 'float64' });
 * const upstream = await tensor([[1, 0], [0, 0]], { device: 'cpu', dtype: 'float64' });
 * const { a: da } = await matrixPowerBackward(upstream, { a }, 0.5);
 * console.log(await da.toNested()); // [ [ 0.25, 0 ], [ 0, 0 ] ]
 * ```
 */
export const matrixPowerBackward = linalgFunction<MatrixPowerBackward, MatrixPowerBackwardOptions>(
  {
    what: 'matrixPowerBackward',
    options: { ...BACKWARD_OPTIONS, ...TRIANGLE_OPTION, eps: true, onDegenerate: true },
    read: ([gradient, saved, exponent]: readonly [
      Tensor,
      MatrixPowerSaved<LinalgDType>,
      number,
    ]) => {
      const { a: matrix, values, vectors } = own(saved, 'a', 'values', 'vectors');
      const given = matrix === undefined ? { vectors, values } : { a: matrix };
      return [{ ...(given as Record<string, Tensor>), gradient }, exponent];
    },
    key: (_, [, exponent]) => (typeof exponent === 'number' ? `${exponent}` : undefined),
    others: ['values', 'gradient'],
    results: ['a'],
    hidden: (_, [given]) => (Object.hasOwn(given, 'a') ? ['values'] : []),
    plan: (call, { eps = 0, uplo }, [, exponent]) => {
      const { what } = call;
      checkNumbers(what, exponent as number, eps);
      const isSaved = !call.has('a');
      const name = isSaved ? 'vectors' : 'a';
      const n = call.order();
      const matrix = call.tensor(name);
      const ofValues = [...matrix.shape.slice(0, -2), n];
      assertLike(what, 'gradient', call.tensor('gradient'), matrix.shape, matrix);
      if (isSaved) assertLike(what, 'values', call.tensor('values'), ofValues, matrix);
      const upper = choice(what, 'uplo', uplo, ['lower', 'upper']) === 'upper';
      const into = call.result('a', matrix.shape);
      const values = isSaved ? call.view('values') : call.rowMajorResult('values', ofValues);
      if (matrix.size === 0) return;
      const given = call.view(name);
      const vectors = isSaved ? given : eigenvectorsOf(call, given, values, upper);
      const inner = product(call, product(call, turned(vectors), call.view('gradient')), vectors);
      const inputs = { m: inner, wi: asColumn(values), wj: asRow(values) };
      const parameters = { power: exponent as number, eps };
      elementwise(call, DIVIDED, inputs, { into: inner, parameters });
      const x = product(call, product(call, vectors, inner), turned(vectors));
      elementwise(call, SYMMETRIC_PART, { x, turned: turned(x) }, { into });
    },
    finish: (tensors, options, [, exponent]) => {
      const { values } = own(tensors, 'values');
      const { eps = 0, onDegenerate } = options;
      const isBelowOne = (exponent as number) > 0 && (exponent as number) < 1;
      if (onDegenerate === undefined || values === undefined || !isBelowOne) return undefined;
      const isNothing = (w: number | undefined): boolean => Math.max(w ?? NaN, 0) + eps === 0;
      const isEqual = (w: ArrayLike<number>, i: number, j: number): boolean =>
        isNothing(w[i]) && isNothing(w[j]);
      const reason = 'eigenvalues of 0 and a power below 1';
      const rule = { what: 'matrixPowerBackward', isEqual, reason };
      return reportDegenerate(values as Tensor<LinalgDType>, rule, onDegenerate, options);
    },
  },
  3,
  true,
);

function checkNumbers(what: string, exponent: number, eps: number): void {
  if (Number.isFinite(exponent) && Number.isFinite(eps) && eps >= 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: power is ${describeValue(exponent)} and eps is ${describeValue(eps)}. Pass those of the forward call: finite, and eps at least 0.`,
  );
}
