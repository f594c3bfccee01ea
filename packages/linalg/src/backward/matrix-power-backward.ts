import {
  abs,
  add,
  div,
  eq,
  exp,
  gt,
  log,
  lt,
  max,
  mul,
  neg,
  pow,
  select,
  sqrt,
  sub,
  tanh,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { describeValue, own, type OptionNames } from '@mercer/options';
import { empty, map, MercerError, type Tensor } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { orderOf, settingOf, type LinalgDType } from '../checks.js';
import { eigh } from '../eigh.js';
import { matmul } from '../matmul.js';
import { type TriangleOption, TRIANGLE_OPTION } from '../options.js';
import { assertLike, batchOf } from './backward-checks.js';
import type { BackwardOptions, LinalgGradients } from './backward-options.js';
import type { EighSaved } from './eigh-backward.js';
import { symmetricPart } from './shape-gradient.js';
import { asColumn, asRow, reportDegenerate, type SpectrumOptions } from './spectrum.js';

/** What matrixPower left behind: a, or instead of it the eigenvalues and vectors that eigh gives of it. */
export type MatrixPowerSaved<D extends LinalgDType> =
  | ({ readonly a: Tensor<D> } & { readonly [K in keyof EighSaved<D>]?: undefined })
  | (EighSaved<D> & { readonly a?: undefined });

/** Options of matrixPowerBackward. */
export interface MatrixPowerBackwardOptions
  extends BackwardOptions, TriangleOption, Pick<SpectrumOptions, 'onDegenerate'> {
  /** As in the forward call. */
  readonly eps?: number | undefined;
}

const MATRIX_POWER_BACKWARD_OPTIONS: OptionNames<MatrixPowerBackwardOptions> = {
  ...WORK_OPTIONS,
  ...TRIANGLE_OPTION,
  eps: true,
  onDegenerate: true,
};

const power = variable('power');

/** An eigenvalue of a + eps I; what is negative by rounding counts as 0. */
const shifted = (w: string): RealExpr => add(max(variable(w), 0), variable('eps'));
const [a, b] = [shifted('wi'), shifted('wj')];

/** sinh x, without what e^x - e^-x cancels. */
const sinh = (x: RealExpr): RealExpr => mul(mul(0.5, tanh(x)), add(exp(x), exp(neg(x))));

/**
 * The divided difference (a^p - b^p) / (a - b). Near the diagonal it cancels; with a = c e^h and b = c e^-h it is
 * c^(p-1) sinh(p h) / sinh(h), in which an error of h counts for little. On the diagonal it is the derivative, and at 0,
 * where a power below 1 has none, 0.
 */
const h = mul(0.5, log(div(a, b)));
const near = mul(pow(mul(sqrt(a), sqrt(b)), sub(power, 1)), div(sinh(mul(power, h)), sinh(h)));
const far = div(sub(pow(a, power), pow(b, power)), sub(a, b));
const atZero = select(eq(power, 1), 1, 0);
const equal = select(gt(a, 0), mul(power, pow(a, sub(power, 1))), atZero);
const DIVIDED = mul(variable('m'), select(eq(a, b), equal, select(lt(abs(h), 0.5), near, far)));

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
export async function matrixPowerBackward<D extends LinalgDType>(
  gradient: Tensor<D>,
  saved: MatrixPowerSaved<NoInfer<D>>,
  exponent: number,
  options?: MatrixPowerBackwardOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'matrixPowerBackward';
  options = readOptions(what, options, MATRIX_POWER_BACKWARD_OPTIONS);
  const { eps = 0, uplo, onDegenerate } = options;
  const within = workOf(options);
  checkNumbers(what, exponent, eps);
  const given = own(saved, 'a', 'values', 'vectors') as MatrixPowerSaved<D>;
  const matrix = given.a ?? given.vectors;
  const name = given.a === undefined ? 'vectors' : 'a';
  const { device } = settingOf(what, { [name]: matrix });
  const n = orderOf(what, name, matrix);
  assertLike(what, 'gradient', gradient, matrix.shape, matrix);
  if (given.a === undefined) {
    assertLike(what, 'values', given.values, [...batchOf(matrix, 2), n], matrix);
  }
  if (matrix.size === 0) return { a: empty(matrix.shape, { dtype: matrix.dtype, device }) };
  const spectrum = await spectrumOf(given, { uplo, ...within });
  using values = spectrum.values;
  using vectors = spectrum.vectors;
  using half = await matmul(vectors, gradient, { transposeA: true, ...within });
  using inner = await matmul(half, vectors, within);
  using rowValues = asRow(values);
  using columnValues = asColumn(values);
  const inputs = { m: inner, wi: columnValues, wj: rowValues };
  const parameters = { power: exponent, eps };
  await map(DIVIDED, inputs, { out: inner, parameters, ...within });
  using left = await matmul(vectors, inner, within);
  using whole = await matmul(left, vectors, { transposeB: true, ...within });
  using result = await symmetricPart(whole, within);
  if (onDegenerate !== undefined && exponent > 0 && exponent < 1) {
    const isNothing = (w: number | undefined): boolean => Math.max(w ?? NaN, 0) + eps === 0;
    const isEqual = (w: ArrayLike<number>, i: number, j: number): boolean =>
      isNothing(w[i]) && isNothing(w[j]);
    const reason = 'eigenvalues of 0 and a power below 1';
    await reportDegenerate(values, { what, isEqual, reason }, onDegenerate, within);
  }
  return { a: result.view() };
}

/** Handles of their own for the eigenvalues and vectors. */
async function spectrumOf<D extends LinalgDType>(
  saved: MatrixPowerSaved<D>,
  options: TriangleOption & BackwardOptions,
): Promise<EighSaved<D>> {
  if (saved.a === undefined) return { values: saved.values.view(), vectors: saved.vectors.view() };
  const { infos, ...spectrum } = await eigh(saved.a, options);
  infos.dispose();
  return spectrum;
}

function checkNumbers(what: string, exponent: number, eps: number): void {
  if (Number.isFinite(exponent) && Number.isFinite(eps) && eps >= 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: power is ${describeValue(exponent)} and eps is ${describeValue(eps)}. Pass those of the forward call: finite, and eps at least 0.`,
  );
}
