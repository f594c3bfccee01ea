import { div, le, mul, select, sub, variable } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { empty, map, MercerError, zeros, type WorkOptions, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { EPSILON, settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { assertSides, sideOf } from '../solve.js';
import { svd } from '../svd.js';
import { assertLike } from './backward-checks.js';
import { wantedOf, type LinalgGradients } from './backward-options.js';
import { productOnto } from './product-onto.js';
import { summedTo } from './shape-gradient.js';
import {
  type SolveBackwardOptions,
  type SolveInputs,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';
import { asColumn, oneValue } from './spectrum.js';

/** Options of lstsqBackward. */
export interface LstsqBackwardOptions<W extends SolveInputs> extends SolveBackwardOptions<W> {
  /** As in the forward call: singular values up to this share of the largest count as 0. Default: max(m, n) eps. */
  readonly tolerance?: number | undefined;
}

const LSTSQ_BACKWARD_OPTIONS: OptionNames<LstsqBackwardOptions<SolveInputs>> = {
  ...SOLVE_BACKWARD_OPTIONS,
  tolerance: true,
};

/** What lstsq left behind. */
export interface LstsqSaved<D extends LinalgDType> {
  readonly a: Tensor<D>;
  readonly b: Tensor<D>;
  readonly x: Tensor<D>;
}

const [x, s, top] = [variable('x'), variable('s'), variable('top')];
const isNothing = le(s, mul(variable('tolerance'), top));
/** Rows over singular values; 0 for those that count as 0. */
const OVER_S = select(isNothing, 0, div(x, s));
/** Rows of singular values that count; 0 for the others. */
const COUNTED = select(isNothing, 0, x);
const DIFFERENCE = sub(x, variable('y'));

/**
 * Gradients of `lstsq(a, b)`: given `gradient` = dL/dx, returns dL/da and dL/db. With A the pseudoinverse of a,
 * `y = A^T gradient` and `r = b - a x`: db is y, and da is `-y x^T + r (A y)^T + (A^T x) (gradient - A a gradient)^T` (Golub and
 * Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate"). The
 * singular values of a are computed again.
 *
 * Where a has full rank this is the derivative: the second term is that of systems with more rows than columns, the third that
 * of systems with fewer. Where it has not, x jumps under changes of a that raise the rank, and there is no derivative: da is
 * that for changes that keep the rank, and finite. Matrices without a solution have NaN gradients.
 *
 * Shapes: a (..., m, n), b (..., m, c), x and gradient (..., n, c), or with `rightHandSides: 'rows'` b (..., c, m) and x
 * (..., c, n); da has a's shape and db has b's: over axes that were broadcast they are summed. All of one dtype and device.
 *
 * @param saved a, b and x of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { lstsq, lstsqBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1], [1]], { device: 'cpu' }); // x is the mean of b
 * const b = await tensor([[1], [3]], { device: 'cpu' });
 * const { x } = await lstsq(a, b);
 * const upstream = await tensor([[1]], { device: 'cpu' });
 * const { b: db } = await lstsqBackward(upstream, { a, b, x });
 * console.log(db.shape); // [ 2, 1 ], one half each
 * ```
 */
export async function lstsqBackward<
  D extends LinalgDType,
  const W extends SolveInputs = readonly ['a', 'b'],
>(
  gradient: Tensor<D>,
  { a, b, x: solution }: LstsqSaved<NoInfer<D>>,
  options?: LstsqBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const what = 'lstsqBackward';
  options = readOptions(what, options, LSTSQ_BACKWARD_OPTIONS);
  const within = workOf(options);
  const wanted = wantedOf(what, options, ['a', 'b']);
  const { dtype, batchShape } = settingOf(what, { a, b });
  const [rows = 0, columns = 0] = a.shape.slice(-2);
  const side = sideOf(what, options);
  assertSides(what, rows, b, side);
  const sides = b.shape.at(side === 'rows' ? -2 : -1) ?? 1;
  const extents = side === 'rows' ? [sides, columns] : [columns, sides];
  assertLike(what, 'x', solution, [...batchShape, ...extents], a);
  assertLike(what, 'gradient', gradient, solution.shape, a);
  const { tolerance = Math.max(rows, columns, 1) * EPSILON[dtype] } = options;
  if (!(Number.isFinite(tolerance) && tolerance >= 0 && tolerance < 1)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: tolerance is ${describeValue(tolerance)}. Pass the tolerance of the forward call, a number from 0 up to 1.`,
    );
  }
  if (a.size === 0) return (await nothing(wanted, a, b, within)) as LinalgGradients<W, D>;
  const turned = (t: Tensor<D>): Tensor<D> => (side === 'rows' ? t.transpose() : t.view());
  using g = turned(gradient);
  using bColumns = turned(b);
  using xColumns = turned(solution);
  const gradients: { a?: Tensor<D>; b?: Tensor<D> } = {};
  using basis = await Basis.of(a, tolerance, within);
  using shares = await basis.shares(g);
  using quotients = await basis.over(shares);
  using y = await matmul(basis.u, quotients, within);
  try {
    if (wanted.has('b')) gradients.b = await summedTo(turned(y), b.shape, within);
    if (wanted.has('a')) {
      const call = { a, b: bColumns, x: xColumns, g, y, shares, quotients };
      gradients.a = await summedTo(await matrixGradient(basis, call, within), a.shape, within);
    }
  } catch (error) {
    gradients.b?.dispose();
    throw error;
  }
  return gradients as LinalgGradients<W, D>;
}

/** Gradients where a has no elements: x does not depend on b either. */
async function nothing<D extends LinalgDType>(
  wanted: ReadonlySet<string>,
  a: Tensor<D>,
  b: Tensor<D>,
  within: WorkOptions,
): Promise<{ a?: Tensor<D>; b?: Tensor<D> }> {
  const common = { dtype: a.dtype, device: a.device, stream: within.stream };
  const { signal } = within;
  const zero = wanted.has('b') ? { b: await zeros(b.shape, { ...common, signal }) } : {};
  return { ...zero, ...(wanted.has('a') ? { a: empty(a.shape, common) } : {}) };
}

/** What the gradient of a is made of, right-hand sides in columns. */
interface MatrixTerms<D extends LinalgDType> {
  readonly a: Tensor<D>;
  readonly b: Tensor<D>;
  readonly x: Tensor<D>;
  readonly g: Tensor<D>;
  readonly y: Tensor<D>;
  /** vh g */
  readonly shares: Tensor<D>;
  /** These over the singular values. */
  readonly quotients: Tensor<D>;
}

async function matrixGradient<D extends LinalgDType>(
  basis: Basis<D>,
  { a, b, x: solution, g, y, shares, quotients }: MatrixTerms<D>,
  within: WorkOptions,
): Promise<Tensor<D>> {
  const { dtype } = a;
  using first = await matmul(y, solution, { transposeB: true, alpha: -1, ...within });
  using residual = await matmul(a, solution, within);
  await map(DIFFERENCE, { x: b, y: residual }, { out: residual, ...within });
  using twice = await basis.over(quotients);
  using back = await matmul(basis.vh, twice, { transposeA: true, ...within });
  using backRows = back.transpose();
  using second = await productOnto(residual, backRows, first, within);
  using counted = await basis.counted(shares);
  using seen = await matmul(basis.vh, counted, { transposeA: true, ...within });
  using unseen = await map(DIFFERENCE, { x: g, y: seen }, { dtype, ...within });
  using ofSolution = await basis.shares(solution);
  using solutionOverS = await basis.over(ofSolution);
  using z = await matmul(basis.u, solutionOverS, within);
  using unseenRows = unseen.transpose();
  return await productOnto(z, unseenRows, second, within);
}

/** The singular vectors of a, with what is done to vectors in them. */
class Basis<D extends LinalgDType> {
  readonly u: Tensor<D>;
  readonly vh: Tensor<D>;
  readonly #s: Tensor<D>;
  readonly #tolerance: number;
  readonly #within: WorkOptions;

  private constructor(
    factors: { readonly u: Tensor<D>; readonly s: Tensor<D>; readonly vh: Tensor<D> },
    tolerance: number,
    within: WorkOptions,
  ) {
    this.u = factors.u;
    this.vh = factors.vh;
    this.#s = factors.s;
    this.#tolerance = tolerance;
    this.#within = within;
  }

  static async of<D extends LinalgDType>(
    a: Tensor<D>,
    tolerance: number,
    within: WorkOptions,
  ): Promise<Basis<D>> {
    const { infos, ...factors } = await svd(a, within);
    infos.dispose();
    return new Basis(factors, tolerance, within);
  }

  /** `vh t` */
  shares(t: Tensor<D>): Promise<Tensor<D>> {
    return matmul(this.vh, t, { ...this.#within });
  }

  /** Row i over singular value i. */
  over(t: Tensor<D>): Promise<Tensor<D>> {
    return this.#map(OVER_S, t);
  }

  /** Row i where singular value i counts. */
  counted(t: Tensor<D>): Promise<Tensor<D>> {
    return this.#map(COUNTED, t);
  }

  async #map(formula: typeof OVER_S, t: Tensor<D>): Promise<Tensor<D>> {
    using column = asColumn(this.#s);
    using largest = oneValue(this.#s, 0);
    return await map(
      formula,
      { x: t, s: column, top: largest },
      {
        dtype: t.dtype,
        ...this.#within,
        parameters: { tolerance: this.#tolerance },
      },
    );
  }

  [Symbol.dispose](): void {
    for (const t of [this.u, this.vh, this.#s]) t.dispose();
  }
}
