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
import { own } from '@mercer/options';
import type { Tensor, TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import { elementwise, product } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import type { PlannedCall } from '../planned-call.js';
import { asColumn, asRow, oneValue, turned } from '../views.js';
import {
  assertGradients,
  assertLike,
  gradientName,
  gradientNames,
  gradientsOf,
} from './backward-checks.js';
import type { LinalgGradients, PreparedGradients } from './backward-options.js';
import {
  equalSingularValues,
  reportDegenerate,
  spectrumTolerance,
  type SpectrumOptions,
  SPECTRUM_OPTIONS,
} from './spectrum.js';

/** Gradients of the results of svd; at least one. */
export interface SvdGradients<D extends LinalgDType, T = Tensor<D>> {
  readonly u?: T | undefined;
  readonly s?: T | undefined;
  readonly vh?: T | undefined;
}

/** What svd left behind. */
export interface SvdSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly u: T;
  readonly s: T;
  readonly vh: T;
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

const RESULTS = ['u', 's', 'vh'] as const;

/** How {@link svdBackward} is called. */
export interface SvdBackward {
  <D extends LinalgDType>(
    gradients: SvdGradients<D, TensorOperand<D>>,
    saved: SvdSaved<D, TensorOperand<NoInfer<D>>>,
    options?: SpectrumOptions,
  ): Promise<LinalgGradients<readonly ['a'], D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    gradients: SvdGradients<D>,
    saved: SvdSaved<NoInfer<D>>,
    options?: SpectrumOptions,
  ) => Promise<
    PreparedGradients<[gradients: SvdGradients<D>, saved: SvdSaved<NoInfer<D>>], readonly ['a'], D>
  >;
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
export const svdBackward = linalgFunction<SvdBackward, SpectrumOptions>(
  {
    what: 'svdBackward',
    options: SPECTRUM_OPTIONS,
    read: ([gradients, { u, s, vh }]: readonly [
      SvdGradients<LinalgDType>,
      SvdSaved<LinalgDType>,
    ]) => [{ u, vh, s, ...gradientsOf(gradients, RESULTS) }],
    others: ['s', ...gradientNames(RESULTS)],
    results: ['a'],
    plan: (call, options) => {
      const { what, setting } = call;
      const [u, s, vh] = RESULTS.map((name) => call.tensor(name)) as [Tensor, Tensor, Tensor];
      const { batch, rows, few, columns } = extentsOf(u, vh);
      assertLike(what, 's', s, [...batch, few], u);
      assertLike(what, 'vh', vh, [...batch, few, columns], u);
      assertGradients(call, { u, s, vh });
      const share = spectrumTolerance(what, options, Math.max(rows, columns), setting.dtype);
      const into = call.result('a', [...batch, rows, columns]);
      if (u.size > 0 && vh.size > 0) planGradient(call, share, into);
    },
    finish: (tensors, options) => {
      const { onDegenerate } = options;
      const { u, s, vh } = own(tensors, ...RESULTS);
      const given = Object.keys(tensors).some((name) =>
        [gradientName('u'), gradientName('vh')].includes(name),
      );
      if (onDegenerate === undefined || !given || !u || !s || !vh) return undefined;
      const { rows, columns } = extentsOf(u, vh);
      const [what, dtype] = ['svdBackward', s.dtype as LinalgDType];
      const rule = equalSingularValues(what, Math.max(rows, columns), dtype, options);
      return reportDegenerate(s as Tensor<LinalgDType>, rule, onDegenerate, options);
    },
  },
  2,
);

/** The extents of factors. */
function extentsOf(
  u: Tensor,
  vh: Tensor,
): { batch: readonly number[] } & Record<'rows' | 'few' | 'columns', number> {
  const [rows = 0, few = 0] = u.shape.slice(-2);
  return { batch: u.shape.slice(0, -2), rows, few, columns: vh.shape.at(-1) ?? 0 };
}

/** `(u middle + (du - u J) / s) vh + u ((d(vh) - K^T vh) / s)`. */
function planGradient(call: PlannedCall, share: number, into: CallView): void {
  const [u, s, vh] = RESULTS.map((name) => call.view(name)) as [CallView, CallView, CallView];
  const [du, ds, dvh] = RESULTS.map((name) => call.viewIfGiven(gradientName(name)));
  const { rows, few, columns } = extentsOf(call.tensor('u'), call.tensor('vh'));
  const parameters = { tolerance: share };
  const top = oneValue(s, 0);
  const j = du && product(call, turned(u), du);
  const k = dvh && product(call, vh, turned(dvh));
  const turns = { jTurned: j && turned(j), kTurned: k && turned(k) };
  const values = { si: asColumn(s), sj: asRow(s), top, ds: ds && asRow(ds) };
  const formula = middleFormula({ u: j !== undefined, s: ds !== undefined, v: k !== undefined });
  const middle = elementwise(call, formula, { j, k, ...turns, ...values }, { parameters });
  /** What a gradient has outside the span of the vectors, over the singular values. */
  const outside = (gradient: CallView, a: CallView, b: CallView, by: CallView): CallView => {
    const rest = call.steps.spreadCopy(gradient, gradient.shape);
    product(call, a, b, { alpha: -1, beta: 1, into: rest });
    return elementwise(call, OVER_S, { x: rest, s: by, top }, { into: rest, parameters });
  };
  const beside = du && j && rows > few ? outside(du, u, j, asRow(s)) : undefined;
  const left = product(call, u, middle, { into: beside, beta: beside === undefined ? 0 : 1 });
  product(call, left, vh, { into });
  if (dvh === undefined || k === undefined || columns === few) return;
  product(call, u, outside(dvh, turned(k), vh, asColumn(s)), { beta: 1, into });
}
