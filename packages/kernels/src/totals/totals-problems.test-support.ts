import { abs, add, div, lt, mul, pow, select, sqrt, sub, variable } from '@mercer/formula';
import type { DType } from '../dtype.js';
import type { TotalsProblem } from './plan-totals.js';

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

/** Products of vectors with each other: what a direction of L-BFGS needs of so many vectors. */
export function productsProblem(dtype: DType, vectors: number, count: number): TotalsProblem {
  const elements = Array.from({ length: vectors }, (_, k) => `v${k}`);
  const [first, second] = elements as [string, string];
  const change = sub(variable(first), variable(second));
  const terms = elements.flatMap((name) => [
    [`${name} first`, mul(variable(name), variable(first))] as const,
    [`${name} change`, mul(variable(name), change)] as const,
  ]);
  return {
    terms: Object.fromEntries(terms),
    elements,
    dtype,
    counts: [count],
    numbers: [],
    parameters: {},
    results: [],
    sums: true,
  };
}
