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
import type { RowRange } from './view-step.js';
import { withSteps } from './with-steps.js';

/** The same formula with other inputs at the same places, and other expressions for the row numbers. */
function recategorised(
  { formula, inputs }: Symbolic,
  moved: (of: Input) => Input,
  rows: ReadonlyMap<VectorExpr, VectorExpr>,
): Symbolic {
  const nodes = new Map<VectorExpr, VectorExpr>(rows);
  const others = inputs.map((one, place) => {
    const other = moved(one);
    if (other.category === one.category) return other;
    nodes.set(nodeAt(one, place), nodeAt(other, place));
    return other;
  });
  return { formula: substituteVector(formula, nodes), inputs: others };
}

const SWAPPED: { readonly [C in Category]: Category } = {
  i: 'j',
  j: 'i',
  pair: 'pair',
  parameter: 'parameter',
};

/** An input of rows as one of the other side, and values of pairs with M and N exchanged. */
function exchanged(one: Input): Input {
  if (one.category !== 'pair') return { ...one, category: SWAPPED[one.category] };
  const { steps } = one;
  if (steps.at(-1)?.op !== 'swap') return withSteps(one, [...steps, { op: 'swap' }]);
  const { extent } = one;
  const { rows, columns = 1, batchShape } = extent ?? { rows: 1, batchShape: [] };
  const back = extent && { rows: columns, columns: rows, batchShape };
  return { ...one, steps: steps.slice(0, -1), extent: back };
}

/** i and j exchanged. */
export function transposed(of: Symbolic): Symbolic {
  const rows = new Map([
    [indexI, indexJ],
    [indexJ, indexI],
  ]);
  return recategorised(of, exchanged, rows);
}

/** The values at equal rows, as a formula of i alone. The numbers of rows of both sides must be the same. */
export function diagonal(of: Symbolic): Symbolic {
  return recategorised(of, alongDiagonal, new Map([[indexJ, indexI]]));
}

function alongDiagonal(one: Input): Input {
  if (one.category === 'j') return { ...one, category: 'i' };
  if (one.category !== 'pair') return one;
  const { steps, extent } = one;
  const { rows = 1, batchShape = [] } = extent ?? {};
  return {
    ...one,
    category: 'i',
    steps: [...steps, { op: 'diagonal' }],
    extent: { rows, batchShape },
  };
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
    if (one.category !== 'i' && one.category !== 'pair') return one;
    const axis = one.category === 'i' ? -2 : -3;
    return withSteps(one, [...one.steps, { op: 'rows', axis, ...range }]);
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
  const moved = new Map<VectorExpr, VectorExpr>();
  const others = inputs.map((one, place): Input => {
    if (one.category === 'pair') {
      const { rows = 1, columns = 1, batchShape = [] } = one.extent ?? {};
      const extent = { rows: columns, batchShape: [...batchShape, rows] };
      const row: Input = { ...one, category: 'j', extent };
      moved.set(nodeAt(one, place), nodeAt(row, place));
      return row;
    }
    const axis = one.category === 'i' ? -2 : -3;
    return withSteps(one, [...one.steps, { op: 'insert', axis }]);
  });
  // Also where the formula has no row numbers: it tells the extent of the batch axis.
  const data = {
    data: Int32Array.from({ length: rowsI }, (_, at) => first + at),
    shape: [rowsI, 1],
  };
  const row = parameterInput(what, data, undefined);
  moved.set(indexI, nodeAt(row, others.length));
  return { formula: substituteVector(formula, moved), inputs: [...others, row] };
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
