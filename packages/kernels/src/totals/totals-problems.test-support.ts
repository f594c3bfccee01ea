import { abs, add, div, lt, mul, pow, select, sqrt, sub, variable } from '@mercer/formula';
import type { DType } from '../dtype.js';
import type { TotalsProblem } from './totals-plan.js';

const x = variable('x');
const [bad, squares] = [variable('bad'), variable('squares')];
const [count, rate] = [variable('count'), variable('rate')];

/** What is decided of a step of an optimiser: elements that are not finite, the norm, and numbers that follow. */
export const totalsProblem = (dtype: DType, counts: readonly number[]): TotalsProblem => ({
  terms: { bad: select(lt(abs(x), Infinity), 0, 1), squares: mul(x, x) },
  elements: ['x'],
  dtype,
  counts,
  numbers: [{ name: 'count', dtype: 'int32' }],
  parameters: { rate: 0.5 },
  results: [
    { expr: add(count, 1), dtype: 'int32' },
    { expr: bad, dtype: 'float32' },
    { expr: sqrt(squares), dtype: 'float64' },
    { expr: div(rate, sub(1, pow(0.9, add(count, 1)))), dtype: 'float32' },
  ],
  sums: false,
});
