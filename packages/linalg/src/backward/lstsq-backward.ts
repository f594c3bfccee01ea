import { div, le, mul, select, sub, variable } from '@mercer/formula';
import { describeValue } from '@mercer/options';
import { MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import type { CallView } from '@mercer/tensor/operation';
import { EPSILON, type LinalgDType } from '../checks.js';
import { elementwise, product, singularOf, summed } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import { assertSides, sideOf } from '../solve.js';
import { asColumn, oneValue, turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import type { LaterGradients, LinalgGradients } from './backward-options.js';
import {
  type SolveBackwardOptions,
  type SolveInputs,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';

/** Options of lstsqBackward. */
export interface LstsqBackwardOptions<W extends SolveInputs> extends SolveBackwardOptions<W> {
  /** As in the forward call: singular values up to this share of the largest count as 0. Default: max(m, n) eps. */
  readonly tolerance?: number | undefined;
}

/** What lstsq left behind. */
export interface LstsqSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly a: T;
  readonly b: T;
  readonly x: T;
}

const [x, s, top] = [variable('x'), variable('s'), variable('top')];
const isNothing = le(s, mul(variable('tolerance'), top));
/** Rows over singular values; 0 for those that count as 0. */
const OVER_S = select(isNothing, 0, div(x, s));
/** Rows of singular values that count; 0 for the others. */
const COUNTED = select(isNothing, 0, x);
const DIFFERENCE = sub(x, variable('y'));

/** How {@link lstsqBackward} is called. */
export interface LstsqBackward {
  <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: TensorOperand<D>,
    saved: LstsqSaved<D, TensorOperand<NoInfer<D>>>,
    options?: LstsqBackwardOptions<W>,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a function whose promise resolves when all is enqueued: the library waits. */
  readonly prepare: <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: Tensor<D>,
    saved: LstsqSaved<NoInfer<D>>,
    options?: LstsqBackwardOptions<W>,
  ) => Promise<LaterGradients<[gradient: Tensor<D>, saved: LstsqSaved<NoInfer<D>>], W, D>>;
}

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
export const lstsqBackward = linalgFunction<LstsqBackward, LstsqBackwardOptions<SolveInputs>>(
  {
    what: 'lstsqBackward',
    options: { ...SOLVE_BACKWARD_OPTIONS, tolerance: true },
    read: ([gradient, { a, b, x: solution }]: readonly [Tensor, LstsqSaved<LinalgDType>]) => [
      { a, b, x: solution, gradient },
    ],
    others: ['x', 'gradient'],
    results: ['a', 'b'],
    plan: (call, options) => {
      const { what, setting } = call;
      const { dtype, batchShape } = setting;
      const [a, b] = [call.tensor('a'), call.tensor('b')];
      const [rows = 0, columns = 0] = a.shape.slice(-2);
      const side = sideOf(what, options);
      assertSides(what, rows, 'b', b, side);
      const count = b.shape.at(side === 'rows' ? -2 : -1) ?? 1;
      const extents = side === 'rows' ? [count, columns] : [columns, count];
      assertLike(what, 'x', call.tensor('x'), [...batchShape, ...extents], a);
      assertLike(what, 'gradient', call.tensor('gradient'), call.tensor('x').shape, a);
      const { tolerance = Math.max(rows, columns, 1) * EPSILON[dtype] } = options;
      if (!(Number.isFinite(tolerance) && tolerance >= 0 && tolerance < 1)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: tolerance is ${describeValue(tolerance)}. Pass the tolerance of the forward call, a number from 0 up to 1.`,
        );
      }
      const da = call.wants('a') ? call.result('a', a.shape) : undefined;
      const db = call.wants('b') ? call.result('b', b.shape) : undefined;
      if (a.size === 0) {
        // x does not depend on b either
        if (db !== undefined) call.steps.fill(db, 0n);
        return;
      }
      const asColumns = (one: CallView): CallView => (side === 'rows' ? turned(one) : one);
      const g = asColumns(call.view('gradient'));
      const solution = asColumns(call.view('x'));
      const { u, s, vh } = singularOf(call, call.view('a'));
      const row = (formula: typeof OVER_S, t: CallView): CallView => {
        const inputs = { x: t, s: asColumn(s), top: oneValue(s, 0) };
        return elementwise(call, formula, inputs, { parameters: { tolerance } });
      };
      const shares = product(call, vh, g);
      const quotients = row(OVER_S, shares);
      let y: CallView | undefined;
      if (db !== undefined) {
        const whole = side === 'rows' ? [count, rows] : [rows, count];
        summed(call, [...batchShape, ...whole], db, (into) => {
          y = product(call, u, quotients, { into: asColumns(into) });
        });
      }
      if (da === undefined) return;
      y ??= product(call, u, quotients);
      const back = product(call, turned(vh), row(OVER_S, quotients));
      const residual = product(call, call.view('a'), solution);
      elementwise(
        call,
        DIFFERENCE,
        { x: asColumns(call.view('b')), y: residual },
        { into: residual },
      );
      const seen = product(call, turned(vh), row(COUNTED, shares));
      const unseen = elementwise(call, DIFFERENCE, { x: g, y: seen });
      const z = product(call, u, row(OVER_S, product(call, vh, solution)));
      const first = y;
      summed(call, [...batchShape, rows, columns], da, (into) => {
        product(call, first, turned(solution), { alpha: -1, into });
        product(call, residual, turned(back), { beta: 1, into });
        product(call, z, turned(unseen), { beta: 1, into });
      });
    },
  },
  2,
  true,
);
