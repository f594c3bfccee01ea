import { describeValue } from '@mercer/options';
import { indexI, indexJ, type VectorExpr } from '@mercer/formula';
import { LazyError } from './lazy-error.js';
import { LazyTensor } from './lazy-tensor.js';

// Row numbers inside formulas are numbers of the data type: whole up to 2^24 in float32, to 2^53 in float64.

const rowNumber = (what: string, formula: VectorExpr): LazyTensor =>
  new LazyTensor(what, { formula, inputs: [] });

/** The number of the row i, from 0. It takes the size from what it is combined with. More than 2^24 rows need float64. */
export const rowNumberI = (): LazyTensor => rowNumber('rowNumberI', indexI);

/** The number of the row j, from 0, as {@link rowNumberI}. */
export const rowNumberJ = (): LazyTensor => rowNumber('rowNumberJ', indexJ);

/** `j - i` */
const offset = (): LazyTensor => rowNumberJ().sub(rowNumberI());

/** 1 on and below diagonal number `diagonal` (`j <= i + diagonal`), else 0. */
export function lowerTriangle(diagonal = 0): LazyTensor {
  return offset().le(whole('lowerTriangle', diagonal));
}

/** 1 on and above diagonal number `diagonal` (`j >= i + diagonal`), else 0. */
export function upperTriangle(diagonal = 0): LazyTensor {
  return offset().ge(whole('upperTriangle', diagonal));
}

/** 1 on the diagonals from `-below` to `above` (`-below <= j - i <= above`), else 0. */
export function band(below: number, above: number): LazyTensor {
  const low = offset().ge(-whole('band', below));
  return low.mul(offset().le(whole('band', above)));
}

/** 1 where the row numbers differ by at most `radius`, else 0. */
export function localWindow(radius: number): LazyTensor {
  return offset().abs().le(whole('localWindow', radius));
}

/** 0 at equal row numbers, else 1: leaves out the pairs of a row with itself. */
export function offDiagonal(): LazyTensor {
  return rowNumberI().ne(rowNumberJ());
}

function whole(what: string, value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${describeValue(value)} is no whole number. Diagonals and radii count rows.`,
  );
}
