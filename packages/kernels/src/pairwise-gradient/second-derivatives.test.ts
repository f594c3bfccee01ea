import {
  add,
  differentiate,
  evaluate,
  exp,
  log,
  max,
  mul,
  neg,
  rsqrt,
  substitute,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { assert, describe, expect, test } from 'vitest';
import {
  descriptorExpressions,
  type DescriptorNumbers,
  type DescriptorParts,
} from '../pairwise/kernel-expressions.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import type { ForwardExpressions } from './scaled-norm.js';

const K = 3;
const steps = Array.from({ length: K }, (_, i) => i);
const feature = (name: 'a' | 'b', i: number): string => `${name}${i}`;

/** The whole kernel of two rows of K features as one expression. */
function whole({ inner, outer, reduce }: ForwardExpressions): RealExpr {
  const terms = steps.map((i) =>
    substitute(inner, { a: variable(feature('a', i)), b: variable(feature('b', i)) }),
  );
  const s = terms.reduce((x, y) => (reduce === 'max' ? max(x, y) : add(x, y)));
  return substitute(outer, { s });
}

const norm = (p: number | 'runtime'): RealExpr => whole(normExpressions(p));
const descriptor = (parts: DescriptorParts, numbers: DescriptorNumbers = {}): RealExpr =>
  whole(descriptorExpressions(parts, numbers));
const radial = (kernel: DescriptorParts['kernel']): RealExpr =>
  descriptor({ innerOperator: 'diff', innerPower: 'square', outerPower: 'none', kernel });
const product = (kernel: DescriptorParts['kernel'], numbers?: DescriptorNumbers): RealExpr =>
  descriptor({ innerOperator: 'dot', innerPower: 'none', outerPower: 'none', kernel }, numbers);

const [d, c] = [variable('d'), variable('c')];
const custom = mul(exp(neg(mul(d, c))), log(add(2, d)));

function cosine(): RealExpr {
  const squared = (name: 'a' | 'b'): RealExpr =>
    steps
      .map((i) => variable(feature(name, i)))
      .reduce<RealExpr>((x, y) => add(x, mul(y, y)), add(0, 0));
  return mul(product('none'), mul(rsqrt(squared('a')), rsqrt(squared('b'))));
}

const KERNELS: Readonly<Record<string, RealExpr>> = {
  'p = 0.5': norm(0.5),
  'p = 1': norm(1),
  'p = 1.3': norm(1.3),
  'p = 1.5': norm(1.5),
  'p = 2': norm(2),
  'p = 3': norm(3),
  'p = 7.5': norm(7.5),
  'p = Infinity': norm(Infinity),
  'a variable p': norm('runtime'),
  'laplace of l1': descriptor(
    { innerOperator: 'diff', innerPower: 'abs', outerPower: 'none', kernel: 'laplace' },
    { epsilon: true },
  ),
  'laplace of powers apart': descriptor(
    { innerOperator: 'diff', innerPower: 'pow', outerPower: 'pow', kernel: 'laplace' },
    { innerP: 'parameter', outerP: 'parameter' },
  ),
  gaussian: radial('gaussian'),
  matern12: radial('matern12'),
  matern32: radial('matern32'),
  matern52: radial('matern52'),
  cauchy: radial('cauchy'),
  rationalQuadratic: radial('rationalQuadratic'),
  inverseMultiquadric: radial('inverseMultiquadric'),
  dot: product('none'),
  cosine: cosine(),
  polynomial: product('polynomial', { degree: 3 }),
  sigmoid: product('sigmoid'),
  custom: radial({ expression: custom, parameters: ['c'] }),
};

/** Points whose features differ pairwise by far more than the step. */
const POINTS = [
  { a0: 0.3, a1: -1.1, a2: 0.8, b0: 1.2, b1: 0.4, b2: -0.4 },
  { a0: 2.1, a1: 0.2, a2: -0.4, b0: 0.9, b1: 1.9, b2: 0.5 },
];
const PARAMETERS = {
  p: 1.7,
  bandwidth: 1.4,
  alpha: 1.3,
  gamma: 0.6,
  offset: 0.9,
  epsilon: 1e-5,
  innerP: 1.8,
  outerP: 0.7,
  custom0: 0.4,
};
const STEP = 1e-5;

describe('every kernel differentiated twice', () => {
  test.each(Object.entries(KERNELS))('%s', (_, kernel) => {
    const features = [...steps.map((i) => feature('a', i)), ...steps.map((i) => feature('b', i))];
    const parameters = Object.keys(PARAMETERS).filter(
      (name) => name !== 'epsilon' && differentiate(kernel, name).value !== 0,
    );
    const names = [...features, ...parameters];
    const first = new Map(names.map((name) => [name, differentiate(kernel, name)]));
    let checked = 0;
    for (const point of POINTS) {
      const at = { ...point, ...PARAMETERS };
      for (const [u, slope] of first) {
        for (const v of names) {
          const moved = (by: number): number =>
            evaluate(slope, { ...at, [v]: ((at as Record<string, number>)[v] as number) + by });
          const want = (moved(STEP) - moved(-STEP)) / (2 * STEP);
          const got = evaluate(differentiate(slope, v), at);
          const error = Math.abs(got - want);
          assert(error <= 1e-6 * (1 + Math.abs(want)), `d2/d${u} d${v}: ${got}, not ${want}`);
          checked += 1;
        }
      }
      for (const [u, slope] of first) {
        const loss = (by: number): number =>
          evaluate(kernel, { ...at, [u]: ((at as Record<string, number>)[u] as number) + by });
        const want = (loss(STEP) - loss(-STEP)) / (2 * STEP);
        expect(Math.abs(evaluate(slope, at) - want)).toBeLessThan(1e-7 * (1 + Math.abs(want)));
      }
    }
    expect(checked).toBe(POINTS.length * names.length ** 2);
  });
});
