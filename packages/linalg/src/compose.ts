import type { RealExpr } from '@mercer/formula';
import { own } from '@mercer/options';
import { broadcastShapes } from '@mercer/tensor';
import {
  addFormula,
  addSumTo,
  isRowMajor,
  type CallView,
  type FormulaViews,
} from '@mercer/tensor/operation';
import { columnOperand, matrixOperand, type PlannedMatrix } from './operand.js';
import { planProduct, type ProductNumbers } from './plan-product.js';
import { runRoutine, type Composed } from './run-routine.js';
import { batchOf } from './views.js';

/*
 * What calls are composed of: each function writes one piece of work down, in scratch memory unless it is told where, and gives the view of
 * what it computes. Views are matrices (..., rows, columns), whose batch axes broadcast.
 */

/** Where something is written. */
export interface Into {
  /** Default: scratch memory. */
  readonly into?: CallView | undefined;
}

/** Row-major scratch memory of the call's dtype. */
export const scratch = (
  { steps, setting: { dtype } }: Composed,
  shape: readonly number[],
): CallView => steps.scratchMemory({ shape, dtype });

const integers = ({ steps }: Composed, shape: readonly number[]): CallView =>
  steps.scratchMemory({ shape, dtype: 'int32' });

/** How products are added up. */
export interface ProductOptions extends Into, ProductNumbers {}

/** `alpha a b`, or `alpha a b` added to what is in `into`. */
export function product(
  call: Composed,
  a: CallView,
  b: CallView,
  options: ProductOptions = {},
): CallView {
  const { into } = own(options, 'into');
  const batchShape = broadcastShapes(batchOf(a), batchOf(b));
  const to = into ?? scratch(call, [...batchShape, a.shape.at(-2) ?? 1, b.shape.at(-1) ?? 1]);
  const [left, right, c] = [a, b, to].map((one) => matrixOperand(one, batchShape));
  planProduct(call, batchShape, { a: left!, b: right!, c: c! }, options);
  return to;
}

/** Positions along the last two axes, by the names that formulas know them by. */
const POSITIONS = { row: -2, column: -1 } as const;

/** A formula over matrices that broadcast, of positions `row` and `column` too; inputs that are not there are left out. */
export function elementwise(
  call: Composed,
  formula: RealExpr,
  given: Readonly<Record<string, CallView | undefined>>,
  options: Into & Pick<FormulaViews, 'parameters'> = {},
): CallView {
  const { into, parameters } = own(options, 'into', 'parameters');
  const inputs = Object.fromEntries(
    Object.entries(given).flatMap(([name, view]) => (view === undefined ? [] : [[name, view]])),
  ) as Record<string, CallView>;
  const shape = broadcastShapes(...Object.values(inputs).map((view) => view.shape));
  const to = into ?? scratch(call, shape);
  addFormula(call.steps, formula, { inputs, to, parameters, indices: POSITIONS });
  return to;
}

/** The elements of a view as row-major memory: itself, or a copy. */
export const rowMajor = ({ steps }: Composed, view: CallView): CallView =>
  isRowMajor(view.shape, view.strides) ? view : steps.spreadCopy(view, view.shape);

/**
 * Where `make` writes something of a shape whose sum over the axes along which `to` was broadcast goes to `to`: there, where they are
 * equal.
 */
export function summed(
  call: Composed,
  shape: readonly number[],
  to: CallView,
  make: (into: CallView) => void,
): void {
  if (
    shape.length === to.shape.length &&
    shape.every((extent, axis) => extent === to.shape[axis])
  ) {
    make(to);
    return;
  }
  const whole = scratch(call, shape);
  make(whole);
  const sums = isRowMajor(to.shape, to.strides) ? to : scratch(call, to.shape);
  addSumTo(call.steps, whole, to.shape, sums);
  if (sums !== to) call.steps.copy(sums, to);
}

/** How a triangular system is solved. */
export interface Triangle extends Into {
  readonly upper: boolean;
  readonly transpose?: boolean;
  readonly unitDiagonal?: boolean;
}

/** Solutions for the columns of b, of a triangular system. */
export function triangularSolution(
  call: Composed,
  a: CallView,
  b: CallView,
  how: Triangle,
): CallView {
  const {
    upper,
    transpose = false,
    unitDiagonal = false,
    into,
  } = own(how, 'upper', 'transpose', 'unitDiagonal', 'into');
  return solved(call, a, b, into, (operands, batchShape) => {
    runRoutine(call, batchShape, 'triangularSolve', {
      ...operands,
      upper: Number(upper),
      transpose: Number(transpose),
      unitDiagonal: Number(unitDiagonal),
    });
  });
}

/** Solutions for the columns of b, by factors of a. */
export function solution(
  call: Composed,
  routine: 'solveCholesky' | 'solveLU',
  a: CallView,
  b: CallView,
  options: Into & { readonly upper?: boolean },
): CallView {
  const { upper = false, into } = own(options, 'upper', 'into');
  return solved(call, a, b, into, (operands, batchShape) => {
    const args = { ...operands, factor: undefined, upper: Number(upper) };
    runRoutine(call, batchShape, routine, args);
  });
}

function solved(
  call: Composed,
  a: CallView,
  b: CallView,
  into: CallView | undefined,
  run: (
    operands: Record<'a' | 'b' | 'x', PlannedMatrix> & { readonly infos: CallView },
    batchShape: readonly number[],
  ) => void,
): CallView {
  const batchShape = broadcastShapes(batchOf(a), batchOf(b));
  const x = into ?? scratch(call, [...batchShape, ...b.shape.slice(-2)]);
  const of = (view: CallView): PlannedMatrix => matrixOperand(view, batchShape);
  run({ a: of(a), b: of(b), x: of(x), infos: integers(call, batchShape) }, batchShape);
  return x;
}

/** Inverses. */
export function inverseOf(
  call: Composed,
  a: CallView,
  flags: { readonly cholesky: number; readonly upper: number },
): CallView {
  const batchShape = batchOf(a);
  const inverse = scratch(call, a.shape);
  runRoutine(call, batchShape, 'inverse', {
    a: matrixOperand(a, batchShape),
    inverse: matrixOperand(inverse, batchShape),
    infos: integers(call, batchShape),
    ...flags,
  });
  return inverse;
}

/** Eigenvectors, and the eigenvalues in row-major memory that is given. */
export function eigenvectorsOf(
  call: Composed,
  a: CallView,
  values: CallView,
  upper: boolean,
): CallView {
  const batchShape = batchOf(a);
  const vectors = scratch(call, a.shape);
  runRoutine(call, batchShape, 'eigh', {
    a: matrixOperand(a, batchShape),
    values: columnOperand(values, batchShape),
    vectors: matrixOperand(vectors, batchShape),
    infos: integers(call, batchShape),
    upper: Number(upper),
  });
  return vectors;
}

/** Singular values (..., k) and vectors, k = min(m, n). */
export function singularOf(call: Composed, a: CallView): Record<'u' | 's' | 'vh', CallView> {
  const batchShape = batchOf(a);
  const [m = 0, n = 0] = a.shape.slice(-2);
  const few = Math.min(m, n);
  const u = scratch(call, [...batchShape, m, few]);
  const s = scratch(call, [...batchShape, few]);
  const vh = scratch(call, [...batchShape, few, n]);
  runRoutine(call, batchShape, 'svd', {
    a: matrixOperand(a, batchShape),
    u: matrixOperand(u, batchShape),
    s: columnOperand(s, batchShape),
    vh: matrixOperand(vh, batchShape),
    infos: integers(call, batchShape),
  });
  return { u, s, vh };
}

/** An axis, counted from the last, and the one behind it as one: in a row-major copy where no single stride leads through both. */
export function flattened(call: Composed, view: CallView, axis: number): CallView {
  const at = view.shape.length + axis;
  const [outer = 1, inner = 1] = view.shape.slice(at, at + 2);
  const [step = 1, stride = 1] = view.strides.slice(at, at + 2);
  if (step !== inner * stride && outer > 1 && inner > 1) {
    return flattened(call, call.steps.spreadCopy(view, view.shape), axis);
  }
  const joined = inner > 1 ? stride : step;
  return {
    ...view,
    shape: [...view.shape.slice(0, at), outer * inner, ...view.shape.slice(at + 2)],
    strides: [...view.strides.slice(0, at), joined, ...view.strides.slice(at + 2)],
  };
}
