import {
  descriptorExpressions,
  type DescriptorNumbers,
  type DescriptorParts,
} from '../pairwise/kernel-expressions.js';
import type { KernelName } from '../pairwise/kernel-expressions-functions.js';
import type { Family } from './parameter-check.test-support.js';

/** A kernel with sensible values of its parameters. */
export interface DescriptorCase {
  readonly name: string;
  readonly family: Family;
}

const VALUES = {
  bandwidth: [2.25, 0.75, 5],
  alpha: [0.5, 1.75, 6],
  epsilon: [0.25, 0.5, 1],
  gamma: [0.25, -0.5, 0.125],
  offset: [1, 0, -2],
  degree: [3, 2, 1],
  p: [1.25, 2.5, 0.75],
  outerP: [0.5, 1.5, 0.75],
};

const squares = (kernel: KernelName): DescriptorParts => ({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
  kernel,
});
const products = (kernel: KernelName): DescriptorParts => ({
  innerOperator: 'dot',
  innerPower: 'none',
  outerPower: 'none',
  kernel,
});
const norm = { innerOperator: 'diff', innerPower: 'pow', outerPower: 'pow' } as const;

const described = (
  name: string,
  parts: DescriptorParts,
  numbers: DescriptorNumbers = {},
  own: Family['values'] = {},
): DescriptorCase => {
  const { p, ...expressions } = descriptorExpressions(parts, numbers);
  const values = { ...VALUES, ...own };
  return { name, family: { name, expressions, values, ...(p !== undefined && { p }) } };
};

/** Every kernel that has a name, and powers of every kind. */
export const DESCRIPTOR_CASES: readonly DescriptorCase[] = [
  ...(['gaussian', 'laplace', 'matern12', 'matern32', 'matern52'] as const).map((name) =>
    described(name, squares(name), { epsilon: name === 'gaussian' }),
  ),
  ...(['cauchy', 'rationalQuadratic', 'inverseMultiquadric'] as const).map((name) =>
    described(name, squares(name)),
  ),
  described('sigmoid', products('sigmoid')),
  described('polynomial of degree 3', products('polynomial'), { degree: 3 }),
  described('polynomial of a degree in memory', products('polynomial'), { degree: 'parameter' }),
  described(
    'powers apart',
    { ...norm, kernel: 'none' },
    {
      innerP: 'parameter',
      outerP: 'parameter',
    },
  ),
  ...[
    [1.25, Infinity],
    [-1, 0],
  ].map((p) =>
    described(
      `a norm with the exponents ${p.join(' and ')} in memory`,
      { ...norm, kernel: 'laplace' },
      { p: 'parameter', epsilon: true },
      { p },
    ),
  ),
  described('a power of signed sums', {
    innerOperator: 'dot',
    innerPower: 'none',
    outerPower: 'square',
    kernel: 'laplace',
  }),
];
