import {
  add,
  evaluate,
  exp,
  isNonNegative,
  mul,
  neg,
  pow,
  print,
  variable,
} from '@mercer/formula/plan';
import { describe, expect, test } from 'vitest';
import { KERNEL_FUNCTIONS, type KernelName } from './kernel-expressions-functions.js';
import {
  descriptorExpressions,
  isOneAtZero,
  type DescriptorNumbers,
  type DescriptorParts,
  type DescriptorPower,
  type InnerOperator,
} from './kernel-expressions.js';
import { normExpressions } from './norm-expressions.js';

const parts = (
  innerOperator: InnerOperator,
  innerPower: DescriptorPower,
  outerPower: DescriptorPower,
  kernel: DescriptorParts['kernel'] = 'none',
): DescriptorParts => ({ innerOperator, innerPower, outerPower, kernel });

const squared = (kernel: DescriptorParts['kernel']): DescriptorParts =>
  parts('diff', 'square', 'none', kernel);

describe('powers', () => {
  test.each([
    [parts('diff', 'none', 'none'), {}, 'b - a', 's'],
    [parts('diff', 'abs', 'none'), {}, 'abs(a - b)', 's'],
    [parts('diff', 'square', 'sqrt'), {}, '(a - b) * (a - b)', 'sqrt(s)'],
    [parts('diff', 'sqrt', 'abs'), {}, 'sqrt(b - a)', 's'],
    [parts('diff', 'none', 'abs'), {}, 'b - a', 'abs(s)'],
    [parts('dot', 'none', 'none'), {}, 'a * b', 's'],
    [parts('dot', 'abs', 'square'), {}, 'abs(a * b)', 's * s'],
    [parts('diff', 'pow', 'none'), { innerP: 1.3 }, 'abs(a - b) ^ p', 's'],
    [parts('diff', 'pow', 'none'), { p: 3 }, '(a - b) * (a - b) * abs(a - b)', 's'],
    [parts('dot', 'pow', 'pow'), { innerP: 2, outerP: 0.5 }, 'a * b * (a * b)', 'sqrt(s)'],
    [parts('diff', 'pow', 'pow'), { innerP: 1.3, outerP: 0.3 }, 'abs(a - b) ^ p', 's ^ outerP'],
    [parts('diff', 'none', 'pow'), { outerP: 2 }, 'b - a', 's * s'],
    [parts('diff', 'none', 'pow'), { outerP: 1.5 }, 'b - a', 's ^ 1.5'],
    [parts('diff', 'none', 'pow'), { p: 1.3 }, 'b - a', 's ^ (1 / p)'],
  ] as const)('%j with %j', (fields, numbers, inner, outer) => {
    const built = descriptorExpressions(fields, numbers);
    expect([print(built.inner), print(built.outer), built.reduce]).toEqual([inner, outer, 'sum']);
  });

  test.each([0.5, 1, 1.5, 2, 3, 7.5, Infinity, 1.3, 9])('p = %f is the norm of cdist', (p) => {
    const { inner, outer, reduce } = descriptorExpressions(parts('diff', 'pow', 'pow'), { p });
    const norm = normExpressions([1.3, 9].includes(p) ? 'runtime' : p);
    expect(inner).toBe(norm.inner);
    expect(outer).toBe(norm.outer);
    expect(reduce).toBe(norm.reduce);
  });

  test('exponents in memory that are not positive and finite make the value NaN', () => {
    const norm = descriptorExpressions(parts('diff', 'pow', 'pow', 'laplace'), {
      p: 'parameter',
      epsilon: true,
    });
    const apart = descriptorExpressions(parts('dot', 'pow', 'pow'), {
      innerP: 'parameter',
      outerP: 'parameter',
    });
    for (const s of [0, 1, 2.5, Infinity]) {
      for (const none of [0, -0, -1.5, Infinity, -Infinity, NaN]) {
        const values = { s, bandwidth: 2, epsilon: 0.5 };
        expect(evaluate(norm.outer, { ...values, p: none })).toBeNaN();
        expect(evaluate(apart.outer, { ...values, p: none, outerP: 2 })).toBeNaN();
        expect(evaluate(apart.outer, { ...values, p: 2, outerP: none })).toBeNaN();
      }
      const d = Math.sqrt(s);
      const laplace = Math.exp((d < 0.5 ? 0 : d) / -2);
      const values = { s, bandwidth: 2, epsilon: 0.5, p: 2, outerP: 0.5 };
      expect(evaluate(norm.outer, values)).toBe(laplace);
      expect(evaluate(apart.outer, values)).toBe(d);
    }
    expect(isNonNegative(norm.outer, ['s'])).toBe(true);
  });

  test('p = 1 and 2 are the fixed norms', () => {
    const one = descriptorExpressions(parts('diff', 'abs', 'none'), {});
    const two = descriptorExpressions(parts('diff', 'square', 'sqrt'), {});
    expect(one.inner).toBe(normExpressions(1).inner);
    expect(two.inner).toBe(normExpressions(2).inner);
    expect(two.outer).toBe(normExpressions(2).outer);
  });

  test.each([
    [parts('diff', 'pow', 'none'), { p: Infinity }],
    [parts('diff', 'pow', 'pow'), { innerP: Infinity, outerP: 1 }],
    [parts('diff', 'abs', 'pow'), { p: Infinity }],
  ] as const)('%j refuses %j', (fields, numbers) => {
    expect(() => descriptorExpressions(fields, numbers)).toThrow('Pass a finite exponent');
  });
});

describe('parameters', () => {
  const of = (fields: DescriptorParts, numbers: DescriptorNumbers = {}): unknown => {
    const { parameters, p } = descriptorExpressions(fields, numbers);
    return [[...parameters].sort(), p];
  };

  test('are those that the expressions use', () => {
    expect(of(squared('none'))).toEqual([[], undefined]);
    expect(of(squared('gaussian'), { epsilon: true })).toEqual([
      ['bandwidth', 'epsilon'],
      undefined,
    ]);
    expect(of(squared('rationalQuadratic'))).toEqual([['alpha', 'bandwidth'], undefined]);
    expect(of(parts('dot', 'none', 'none', 'polynomial'), { degree: 3 })).toEqual([
      ['gamma', 'offset'],
      undefined,
    ]);
    expect(of(parts('dot', 'none', 'none', 'polynomial'), { degree: 'parameter' })).toEqual([
      ['degree', 'gamma', 'offset'],
      undefined,
    ]);
  });

  test('leave out a number of p, which is a launch scalar', () => {
    const norm = parts('diff', 'pow', 'pow');
    expect(of(norm, { p: 1.3 })).toEqual([[], 1.3]);
    expect(of(norm, { p: 2 })).toEqual([[], undefined]);
    expect(of(norm, { p: 'parameter' })).toEqual([['p'], undefined]);
    expect(of(norm, { innerP: 1.3, outerP: 0.3 })).toEqual([['outerP'], 1.3]);
    expect(of(norm, { innerP: 'parameter', outerP: 'parameter' })).toEqual([
      ['outerP', 'p'],
      undefined,
    ]);
  });

  test('of a custom kernel get names of their own', () => {
    const [d, int] = [variable('d'), variable('int')];
    const custom = { expression: mul(int, exp(neg(d))), parameters: ['int'] };
    const { outer, parameters } = descriptorExpressions(squared(custom), {});
    expect(print(outer)).toBe('custom0 * exp(-s)');
    expect(parameters).toEqual(['custom0']);
  });
});

describe('kernels', () => {
  const h = 1.7;
  const bindings = { bandwidth: h, alpha: 0.8, gamma: 0.6, offset: -0.4, degree: 3 };
  // From the definitions, in r and t.
  const definitions: Record<KernelName, (d: number) => number> = {
    none: (d) => d,
    cosine: (d) => d,
    laplace: (d) => Math.exp(-d / h),
    gaussian: (d) => Math.exp(-d / (2 * h ** 2)),
    matern12: (s) => Math.exp(-Math.sqrt(s) / h),
    matern32: (s) => (1 + Math.sqrt(3 * s) / h) * Math.exp(-Math.sqrt(3 * s) / h),
    matern52: (s) =>
      (1 + Math.sqrt(5 * s) / h + (5 * s) / (3 * h ** 2)) * Math.exp(-Math.sqrt(5 * s) / h),
    cauchy: (s) => 1 / (1 + s / h ** 2),
    rationalQuadratic: (s) => (1 + s / (2 * 0.8 * h ** 2)) ** -0.8,
    inverseMultiquadric: (s) => (1 + s / h ** 2) ** -0.5,
    polynomial: (t) => (0.6 * t - 0.4) ** 3,
    sigmoid: (t) => Math.tanh(0.6 * t - 0.4),
  };
  const operatorOf = (name: string): InnerOperator =>
    ['cosine', 'polynomial', 'sigmoid'].includes(name) ? 'dot' : 'diff';
  const built = (name: KernelName): DescriptorParts =>
    operatorOf(name) === 'dot' ? parts('dot', 'none', 'none', name) : squared(name);

  test.each(Object.keys(KERNEL_FUNCTIONS) as KernelName[])('%s is its definition', (name) => {
    for (const degree of [3, 'parameter'] as const) {
      const { outer } = descriptorExpressions(built(name), { degree });
      for (const s of [0, 1e-9, 0.3, 1, 2, 17.5, 400]) {
        const want = definitions[name](s);
        expect(evaluate(outer, { ...bindings, s })).toBeCloseTo(want, 12 - Math.log10(1 + want));
      }
    }
  });

  test.each(['matern12', 'matern32', 'matern52', 'cauchy', 'rationalQuadratic'] as const)(
    '%s is 0 far away and keeps NaN',
    (name) => {
      const { outer } = descriptorExpressions(squared(name), {});
      expect(evaluate(outer, { ...bindings, s: Infinity })).toBe(0);
      expect(evaluate(outer, { ...bindings, s: NaN })).toBeNaN();
    },
  );

  test('the base of the rational quadratic is known to be positive', () => {
    const { outer } = descriptorExpressions(squared('rationalQuadratic'), {});
    expect(outer.op).toBe('pow');
    expect(isNonNegative(outer, ['s'])).toBe(true);
  });

  test('epsilon clamps the distance, not the kernel, and keeps NaN', () => {
    const { outer } = descriptorExpressions(squared('gaussian'), { epsilon: true });
    const at = (s: number): number => evaluate(outer, { s, bandwidth: 1, epsilon: 0.5 });
    expect([at(0.49), at(0.5)]).toEqual([1, Math.exp(-0.25)]);
    expect(at(NaN)).toBeNaN();
  });

  test('which are 1 between equal rows', () => {
    const one = (Object.keys(KERNEL_FUNCTIONS) as KernelName[]).filter((name) =>
      isOneAtZero(descriptorExpressions(built(name), { epsilon: operatorOf(name) === 'diff' })),
    );
    expect(one.sort()).toEqual([
      'cauchy',
      'gaussian',
      'inverseMultiquadric',
      'laplace',
      'matern12',
      'matern32',
      'matern52',
      'rationalQuadratic',
    ]);
    const custom = (expression: DescriptorParts['kernel']): boolean =>
      isOneAtZero(descriptorExpressions(squared(expression), {}));
    const [d, c] = [variable('d'), variable('c')];
    expect(custom({ expression: exp(neg(mul(c, d))), parameters: ['c'] })).toBe(true);
    expect(custom({ expression: mul(c, exp(neg(d))), parameters: ['c'] })).toBe(false);
    expect(custom({ expression: pow(add(d, 2), 0.5), parameters: [] })).toBe(false);
  });
});
