import { add, div, lt, mul, select, variable } from '@mercer/formula';

const x = variable('x');
const row = variable('row');
const column = variable('column');

/** `(x + x^T) / 2`, exactly symmetric. */
export const SYMMETRIC_PART = mul(0.5, add(x, variable('turned')));

/** A triangle of matrices with zeros elsewhere. */
export const TRIANGLES = {
  lower: select(lt(row, column), 0, x),
  upper: select(lt(column, row), 0, x),
  strictLower: select(lt(column, row), x, 0),
  strictUpper: select(lt(row, column), x, 0),
  /** The lower triangle with half of the diagonal. */
  halfLower: select(lt(row, column), 0, select(lt(column, row), x, div(x, 2))),
};
