import type { RealExpr } from '@mercer/formula';
import { own, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor, type TensorOperand } from '@mercer/tensor';
import { formatShape, type CallView } from '@mercer/tensor/operation';
import type { LinalgDType } from '../checks.js';
import { elementwise, product, scratch, summed, type Into } from '../compose.js';
import { linalgFunction } from '../linalg-operation.js';
import { type RightHandSidesOption, type WrtOption, SIDES_OPTION } from '../options.js';
import type { PlannedCall } from '../planned-call.js';
import { assertSides, sideOf } from '../solve.js';
import { turned } from '../views.js';
import { assertLike } from './backward-checks.js';
import {
  BACKWARD_OPTIONS,
  type BackwardOptions,
  type LinalgGradients,
  type PreparedGradients,
  type Shaped,
} from './backward-options.js';

/** The inputs of a solve by name. */
export type SolveInputs = readonly ('a' | 'b')[];

/** Options of the backward rules of solves: those of the forward call that matter, and what is wanted. */
export interface SolveBackwardOptions<W extends SolveInputs>
  extends BackwardOptions<W>, RightHandSidesOption, WrtOption<W> {}

/** Names of {@link SolveBackwardOptions}. */
export const SOLVE_BACKWARD_OPTIONS: OptionNames<SolveBackwardOptions<SolveInputs>> = {
  ...BACKWARD_OPTIONS,
  ...SIDES_OPTION,
  wrt: true,
};

/** What the forward call left behind. */
export interface SolveSaved<D extends LinalgDType, T = Tensor<D>> {
  readonly a: T;
  /** The solutions. */
  readonly x: T;
  /** The right-hand sides, or only their shape; needed where b was broadcast. Default: x's shape. */
  readonly b?: Shaped | undefined;
}

/** What differs between the solves. */
export interface SolveRule<O extends object> {
  readonly what: string;
  readonly options: OptionNames<O>;
  /** The solutions of the transposed systems for the columns of `sides`; a is the matrix or its factor. */
  readonly solveTransposed: (
    call: PlannedCall,
    a: CallView,
    sides: CallView,
    options: O & Into,
  ) => CallView;
  /** Whether the call solved with `a^T`: then the gradient of a is `-x y^T`. */
  readonly isTransposed?: (options: O) => boolean;
  /** What `-y x^T`, as x and turned, becomes where the call read only some elements of a. */
  readonly finish?: (what: string, options: O) => RealExpr;
}

/** For `a x = b`: `db = y` with `a^T y = dx`, and `da = -y x^T` (Giles 2008, section 2.3.1). */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the face, which types the arguments
export function solveBackward<F, O extends SolveBackwardOptions<SolveInputs>>(
  rule: SolveRule<O>,
): F {
  const { what, options: names, solveTransposed } = rule;
  const { finish, isTransposed } = own(rule, 'finish', 'isTransposed');
  return linalgFunction<F, O>(
    {
      what,
      options: names,
      read: ([gradient, saved]: readonly [
        Tensor,
        SolveSaved<LinalgDType> & { readonly factor?: Tensor },
      ]) => {
        const { a, factor, x, b = x } = own(saved, 'a', 'factor', 'x', 'b');
        const matrix = factor === undefined ? { a } : { factor };
        const { shape = [] } = (b as Partial<Shaped> | undefined) ?? {};
        return [{ ...(matrix as Record<string, Tensor>), x, gradient }, [...shape]];
      },
      key: (_, [, shape]) => String(shape),
      others: ['gradient'],
      results: ['a', 'b'],
      plan: (call, options, [, shapeOfB]) => {
        const name = call.has('factor') ? 'factor' : 'a';
        const x = call.tensor('x');
        const side = sideOf(what, options);
        assertSides(what, call.order(), 'x', x, side);
        assertLike(what, 'gradient', call.tensor('gradient'), x.shape, x);
        const asColumns = (view: CallView): CallView => (side === 'rows' ? turned(view) : view);
        const { shape } = call.tensor(name);
        const da = call.wants('a') ? call.result('a', shape) : undefined;
        const db = call.wants('b') ? call.result('b', fitting(call, shapeOfB)) : undefined;
        const solved = (into?: CallView): CallView =>
          solveTransposed(call, call.view(name), asColumns(call.view('gradient')), {
            ...options,
            into: into && asColumns(into),
          });
        let y: CallView | undefined;
        if (db !== undefined) {
          summed(call, x.shape, db, (into) => {
            y = solved(into);
          });
        }
        if (da === undefined) return;
        y ??= solved();
        const solutions = asColumns(call.view('x'));
        const [left, right] = isTransposed?.(options) === true ? [solutions, y] : [y, solutions];
        const formula = finish?.(what, options);
        const sum = formula === undefined ? da : scratch(call, shape);
        summed(call, [...call.setting.batchShape, ...shape.slice(-2)], sum, (into) => {
          product(call, left, turned(right), { alpha: -1, into });
        });
        if (formula !== undefined) {
          elementwise(call, formula, { x: sum, turned: turned(sum) }, { into: da });
        }
      },
    },
    2,
  );
}

/** A shape that broadcasts to that of x. @throws MercerError SHAPE_MISMATCH */
function fitting(call: PlannedCall, given: unknown): readonly number[] {
  const shape = given as readonly number[];
  const x = call.tensor('x');
  const lead = x.rank - shape.length;
  if (lead >= 0 && shape.every((extent, i) => extent === 1 || extent === x.shape[i + lead]))
    return shape;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${call.what}: b has shape ${formatShape(shape)}, and ${formatShape(shape)} does not broadcast to the shape of x, which is ${x.label}. Pass the b of the forward call.`,
  );
}

/** How the backward rule of a solve is called; E are options beside those of all. */
export interface SolveBackwardFunction<E = unknown> {
  <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: TensorOperand<D>,
    saved: SolveSaved<D, TensorOperand<NoInfer<D>>>,
    options?: SolveBackwardOptions<W> & E,
  ): Promise<LinalgGradients<W, D>>;
  /** Loads what such a call needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType, const W extends SolveInputs = readonly ['a', 'b']>(
    gradient: Tensor<D>,
    saved: SolveSaved<NoInfer<D>>,
    options?: SolveBackwardOptions<W> & E,
  ) => Promise<PreparedGradients<[gradient: Tensor<D>, saved: SolveSaved<NoInfer<D>>], W, D>>;
}
