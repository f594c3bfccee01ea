import { own } from '@mercer/options';
import {
  abs,
  add,
  constant,
  div,
  eq,
  le,
  mul,
  select,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { empty, map, type WorkOptions, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { assertGradients, assertLike, batchOf } from './backward-checks.js';
import type { LinalgGradients } from './backward-options.js';
import { productOnto } from './product-onto.js';
import { POSITIONS } from './shape-gradient.js';
import {
  asColumn,
  asRow,
  oneValue,
  reportDegenerate,
  spectrumTolerance,
  type SpectrumOptions,
  SPECTRUM_OPTIONS,
} from './spectrum.js';

/** Gradients of the results of svd; at least one. */
export interface SvdGradients<D extends LinalgDType> {
  readonly u?: Tensor<D> | undefined;
  readonly s?: Tensor<D> | undefined;
  readonly vh?: Tensor<D> | undefined;
}

/** What svd left behind. */
export interface SvdSaved<D extends LinalgDType> {
  readonly u: Tensor<D>;
  readonly s: Tensor<D>;
  readonly vh: Tensor<D>;
}

const si = variable('si');
const sj = variable('sj');
const bound = mul(variable('tolerance'), variable('top'));

/** `x / difference`, or 0 where the difference counts as 0. */
const quotient = (x: RealExpr, difference: RealExpr): RealExpr =>
  select(le(abs(difference), bound), 0, div(x, difference));

/** x over singular values, 0 over those that count as 0. */
const OVER_S = quotient(variable('x'), variable('s'));

/** Held for the whole program: kernels are remembered by their formula. */
const middles = new Map<string, RealExpr>();

/**
 * The middle factor from J = u^T du and K = vh dvh^T. The usual `F (J - J^T) S + S F (K - K^T)` with
 * `F[i, j] = 1 / (s[j]^2 - s[i]^2)` is written in partial fractions, so that nothing is squared and each of the two
 * differences is compared with the tolerance by itself.
 */
function middleFormula(has: { readonly [K in 'u' | 's' | 'v']: boolean }): RealExpr {
  const key = JSON.stringify(has);
  const known = middles.get(key);
  if (known !== undefined) return known;
  const none = constant(0);
  const j = has.u ? sub(variable('j'), variable('jTurned')) : none;
  const k = has.v ? sub(variable('k'), variable('kTurned')) : none;
  const halves = add(quotient(add(j, k), sub(sj, si)), quotient(sub(j, k), add(si, sj)));
  const diagonal = eq(variable('row'), variable('column'));
  const made = select(diagonal, has.s ? variable('ds') : none, mul(0.5, halves));
  middles.set(key, made);
  return made;
}

/**
 * Gradient of `svd(a)`: given dL/du, dL/ds and dL/d(vh) as far as there are, returns dL/da (Giles 2008, section 3.2; Townsend
 * 2016, "Differentiating the singular value decomposition", for reduced factors).
 *
 * Conventions. Singular vectors are determined up to a sign for each pair (u[:, i], vh[i, :]), and up to a rotation of both
 * where singular values are equal; da is the derivative at the vectors in `saved`, and means something for a loss that does
 * not depend on that choice. Terms over differences, sums or values of at most `tolerance` times the largest singular value
 * (default max(m, n) eps) are 0: exact for such a loss where singular values are equal and not 0, a convention at a singular
 * value of 0, where there is no derivative; never NaN. `onDegenerate` tells: pairs (i, j) where the difference counts as 0, and
 * [i, i] for a value that does. A matrix without singular values has a NaN gradient.
 *
 * Shapes: u (..., m, k), s (..., k), vh (..., k, n), their gradients the same, da (..., m, n), k = min(m, n).
 *
 * @param gradients of u, s and vh, at least one of them
 * @param saved the results of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { svd, svdBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const saved = await svd(await tensor([[3, 0], [0, -4]], { device: 'cpu' }));
 * const upstream = await tensor([1, 1], { device: 'cpu' }); // of the sum of singular values
 * const { a: da } = await svdBackward({ s: upstream }, saved);
 * console.log(await da.toNested()); // [ [ 1, 0 ], [ 0, -1 ] ]
 * ```
 */
export async function svdBackward<D extends LinalgDType>(
  gradients: SvdGradients<D>,
  saved: SvdSaved<NoInfer<D>>,
  options?: SpectrumOptions,
): Promise<LinalgGradients<readonly ['a'], D>> {
  const what = 'svdBackward';
  options = readOptions(what, options, SPECTRUM_OPTIONS);
  const given = own(gradients, 'u', 's', 'vh');
  const { u, s, vh } = saved;
  const { onDegenerate } = options;
  const within = workOf(options);
  const { dtype, device } = settingOf(what, { u, vh });
  const [rows = 0, few = 0] = u.shape.slice(-2);
  const columns = vh.shape.at(-1) ?? 0;
  assertLike(what, 's', s, [...batchOf(u, 2), few], u);
  assertLike(what, 'vh', vh, [...batchOf(u, 2), few, columns], u);
  assertGradients(what, given, { u, s, vh });
  const share = spectrumTolerance(what, options, Math.max(rows, columns), dtype);
  const shape = [...batchOf(u, 2), rows, columns];
  if (u.size === 0 || vh.size === 0) return { a: empty(shape, { dtype: u.dtype, device }) };
  using a = await gradientOf(given, { u, s, vh }, share, within);
  if (onDegenerate !== undefined && (given.u ?? given.vh) !== undefined) {
    const isEqual = (values: ArrayLike<number>, i: number, j: number): boolean => {
      const least = share * (values[0] ?? 0);
      const [x, y] = [values[i] ?? NaN, values[j] ?? NaN];
      return i === j ? x <= least : Math.abs(x - y) <= least;
    };
    const reason = 'singular values that are equal, or 0 where paired with themselves,';
    await reportDegenerate(s, { what, isEqual, reason }, onDegenerate, within);
  }
  return { a: a.view() };
}

/** `(u middle + (du - u J) / s) vh + u ((d(vh) - K^T vh) / s)`. */
async function gradientOf<D extends LinalgDType>(
  gradients: SvdGradients<D>,
  { u, s, vh }: SvdSaved<D>,
  share: number,
  within: WorkOptions,
): Promise<Tensor<D>> {
  const { u: du, vh: dvh } = gradients;
  const [rows = 0, few = 0] = u.shape.slice(-2);
  const columns = vh.shape.at(-1) ?? 0;
  using j = du && (await matmul(u, du, { transposeA: true, ...within }));
  using k = dvh && (await matmul(vh, dvh, { transposeB: true, ...within }));
  using middle = await middleOf(gradients.s, s, j, k, share, within);
  using sRow = asRow(s);
  using sColumn = asColumn(s);
  using top = oneValue(s, 0);
  const parameters = { tolerance: share };
  // what du has outside the span of u, where u does not span everything
  using outside = du !== undefined && rows > few ? await du.clone(within) : undefined;
  if (outside !== undefined && j !== undefined) {
    await matmul(u, j, { alpha: -1, beta: 1, out: outside, ...within });
    await map(OVER_S, { x: outside, s: sRow, top }, { out: outside, parameters, ...within });
  }
  using left = await productOnto(u, middle, outside, within);
  const a = await matmul(left, vh, within);
  if (dvh === undefined || k === undefined || columns === few) return a;
  try {
    using beyond = await dvh.clone(within);
    await matmul(k, vh, { transposeA: true, alpha: -1, beta: 1, out: beyond, ...within });
    await map(OVER_S, { x: beyond, s: sColumn, top }, { out: beyond, parameters, ...within });
    return await matmul(u, beyond, { beta: 1, out: a, ...within });
  } catch (error) {
    a.dispose();
    throw error;
  }
}

async function middleOf<D extends LinalgDType>(
  slopes: Tensor<D> | undefined,
  s: Tensor<D>,
  j: Tensor<D> | undefined,
  k: Tensor<D> | undefined,
  share: number,
  within: WorkOptions,
): Promise<Tensor<D>> {
  using sRow = asRow(s);
  using sColumn = asColumn(s);
  using top = oneValue(s, 0);
  using ds = slopes && asRow(slopes);
  using jTurned = j?.transpose();
  using kTurned = k?.transpose();
  const given = { j, jTurned, k, kTurned, ds, si: sColumn, sj: sRow, top };
  const inputs = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ) as Record<string, Tensor<D>>;
  const formula = middleFormula({
    u: j !== undefined,
    s: ds !== undefined,
    v: k !== undefined,
  });
  return await map(formula, inputs, {
    dtype: s.dtype,
    ...within,
    parameters: { tolerance: share },
    indices: POSITIONS,
  });
}
