import {
  indexI,
  indexJ,
  ops,
  substituteVector,
  type Category,
  type VectorExpr,
} from '@mercer/formula';
import { describeInput, nodeAt, type Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { parameterInput } from './make-input.js';
import type { Symbolic } from './symbolic.js';
import { shapeAfter, type RowRange, type ViewStep } from './view-step.js';

/** The same formula with inputs of another category, and other expressions for the row numbers. */
function recategorised(
  { formula, inputs }: Symbolic,
  category: (of: Category) => Category,
  rows: ReadonlyMap<VectorExpr, VectorExpr>,
): Symbolic {
  const moved = new Map<VectorExpr, VectorExpr>(rows);
  const others = inputs.map((one, place) => {
    const other = { ...one, category: category(one.category) };
    if (other.category === one.category) return one;
    moved.set(nodeAt(one, place), nodeAt(other, place));
    return other;
  });
  return { formula: substituteVector(formula, moved), inputs: others };
}

const SWAPPED: { readonly [C in Category]: Category } = { i: 'j', j: 'i', parameter: 'parameter' };

/** i and j exchanged. */
export function transposed(of: Symbolic): Symbolic {
  const rows = new Map([
    [indexI, indexJ],
    [indexJ, indexI],
  ]);
  return recategorised(of, (category) => SWAPPED[category], rows);
}

/** The values at equal rows, as a formula of i alone. The numbers of rows of both sides must be the same. */
export function diagonal(of: Symbolic): Symbolic {
  return recategorised(
    of,
    (category) => (category === 'j' ? 'i' : category),
    new Map([[indexJ, indexI]]),
  );
}

/** The rows of i that a range selects. */
export function someRows(what: string, { formula, inputs }: Symbolic, range: RowRange): Symbolic {
  checkBound(what, inputs);
  const { start, step } = range;
  const row = ops.add(ops.mul(indexI, step), start);
  return {
    formula: substituteVector(formula, new Map([[indexI, row]])),
    inputs: takeRows(inputs, range),
  };
}

/** Inputs of which those of i have the rows of a range alone. */
export function takeRows(inputs: readonly Input[], range: RowRange): readonly Input[] {
  return inputs.map((one): Input => {
    if (one.category !== 'i') return one;
    return withSteps(one, [...one.steps, { op: 'rows', ...range }], range.count);
  });
}

/**
 * The same numbers with i as the last batch axis and one row of i left, so that a sum over i is the value itself: what
 * makes a dense matrix of a reduction. `first` is the number of the first row.
 */
export function rowsAsBatch(
  what: string,
  { formula, inputs }: Symbolic,
  rowsI: number,
  first = 0,
): Symbolic {
  checkBound(what, inputs);
  const others = inputs.map((one): Input => {
    const axis = one.category === 'i' ? -2 : -3;
    return withSteps(one, [...one.steps, { op: 'insert', axis }], undefined);
  });
  // Also where the formula has no row numbers: it tells the extent of the batch axis.
  const data = {
    data: Int32Array.from({ length: rowsI }, (_, at) => first + at),
    shape: [rowsI, 1],
  };
  const row = parameterInput(what, data, undefined);
  const moved = new Map<VectorExpr, VectorExpr>([[indexI, nodeAt(row, others.length)]]);
  return { formula: substituteVector(formula, moved), inputs: [...others, row] };
}

function withSteps(one: Input, steps: readonly ViewStep[], rows: number | undefined): Input {
  const extent = one.extent ?? { rows: 1, batchShape: [] };
  const added = steps.slice(one.steps.length);
  const shape = shapeAfter([...extent.batchShape, extent.rows, one.dim], added);
  return {
    ...one,
    steps,
    extent: { rows: rows ?? shape.at(-2) ?? 1, batchShape: shape.slice(0, -2) },
  };
}

/** @throws LazyError UNBOUND_VARIABLE where an input is a placeholder */
export function checkBound(what: string, inputs: readonly Input[]): void {
  const open = inputs.find(({ extent }) => extent === undefined);
  if (open === undefined) return;
  throw new LazyError(
    'UNBOUND_VARIABLE',
    `${what}: ${describeInput(open)} has no data yet, and this needs its rows. Make the variable from data, for example lazyI(x), or bind the reduction to data.`,
  );
}
