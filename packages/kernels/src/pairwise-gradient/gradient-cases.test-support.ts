import { add, div, exp, mul, neg, pm, sqrt, sub, variable, vi, vij, vj } from '@mercer/formula';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { random } from '../testing/pairwise-check.test-support.js';
import type { GradientOperands } from './gradient-formula.js';
import type { ForwardExpressions } from './scaled-norm.js';

const [a, b, s, bandwidth] = [variable('a'), variable('b'), variable('s'), variable('bandwidth')];
const squares = mul(sub(a, b), sub(a, b));
const radius = div(sqrt(s), bandwidth);
const matern: ForwardExpressions = {
  inner: squares,
  reduce: 'sum',
  parameters: ['bandwidth'],
  outer: mul(add(1, radius), exp(neg(radius))),
};

/** A kernel that is differentiated. */
export interface GradientCase {
  readonly name: string;
  readonly forward: ForwardExpressions;
  readonly dtype: 'float32' | 'float64';
  readonly p?: number;
}

/** Norms, an exponent that is a number of the call, a maximum, a sum of signed terms, and a kernel with a parameter. */
export const CASES: readonly GradientCase[] = [
  { name: 'p = 2', forward: normExpressions(2), dtype: 'float32' },
  { name: 'p = 1.3', forward: normExpressions('runtime'), p: 1.3, dtype: 'float32' },
  { name: 'p = 0.5', forward: normExpressions(0.5), dtype: 'float64' },
  { name: 'maximum', forward: normExpressions(Infinity), dtype: 'float32' },
  {
    name: 'signed',
    forward: { inner: sub(a, mul(2, b)), outer: exp(neg(mul(0.01, mul(s, s)))), reduce: 'sum' },
    dtype: 'float64',
  },
  { name: 'Matern', forward: matern, dtype: 'float32' },
];

/** The cases of parameters, with their names. */
export const PARAMETER_CASES: readonly (GradientCase & { readonly names: readonly string[] })[] =
  CASES.filter(({ name }) => name === 'p = 1.3' || name === 'Matern').map((each) => ({
    ...each,
    names: each.forward.parameters ?? ['p'],
  }));

/** Numbers for the inputs: coordinates that coincide, and parameters above 0. */
export const fill = ({ position }: { readonly position: number }): number => {
  if (position >= 4) return position === 4 ? 1.3 : 1.5;
  return position < 2 ? Math.round(8 * random()) / 4 : random() - 0.5;
};

/** Inputs: rows 0 and 1, values of pairs 2 and 3 (of the pair turned round), p and the bandwidth. */
export const operandsOf = (k: number): GradientOperands => ({
  a: vi(0, k),
  b: vj(1, k),
  upstream: vij(2, 1),
  values: { p: pm(4, 1), bandwidth: pm(5, 1) },
  numbers: {},
  operandOf: () => pm(4, 1),
});
