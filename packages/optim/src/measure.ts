import { abs, lt, mul, select, variable } from '@mercer/formula';

const x = variable('x');

/** Sums over elements: how many are NaN or infinite. */
export const BAD = { bad: select(lt(abs(x), Infinity), 0, 1) };

/** The same, and the squares. */
export const SQUARES = { ...BAD, squares: mul(x, x) };
