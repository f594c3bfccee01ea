import {
  add,
  evaluate,
  exp,
  mul,
  neg,
  print,
  select,
  lt,
  sqrt,
  sub,
  variable,
} from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { descriptorExpressions } from '../pairwise/kernel-expressions.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { exchangeOperands, parameterGradients, rowsGradient } from './gradient-expressions.js';
import { outerDerivative } from './outer-derivative.js';

const shown = (p: number | 'runtime', skipEpilogue = false): string[] => {
  const { pairs, sums } = rowsGradient(normExpressions(p, { skipEpilogue }), 'float64');
  return [...pairs, ...sums.flatMap(({ term }) => term ?? [])].map(print);
};

describe('rowsGradient', () => {
  test('is plain where the derivative is simple', () => {
    expect(shown(1)).toEqual(['upstream', 'pair0 * sign(a - b)']);
    expect(shown(2)).toEqual(['upstream * rsqrt(s)', 'pair0 * (a - b)']);
    expect(shown(2, true)).toEqual(['2 * upstream', 'pair0 * (a - b)']);
    expect(shown(Infinity)).toEqual(['upstream', 'pair0 * sign(a - b)']);
  });

  test('scales differences by the distance for other norms', () => {
    const [weight, reciprocal, term] = shown(1.5);
    expect(weight).toBe('upstream');
    expect(reciprocal).toMatch(
      /^select\(s \^ 0\.666.* < 2\.2250738585072014e-308, 0, 1 \/ s \^ 0\.666/,
    );
    expect(term).toBe('pair0 * (sign(a - b) * sqrt(abs(pair1 * (a - b))))');
    expect(shown('runtime').at(-1)).toBe(
      'select(abs(pair1 * (a - b)) == 0, 0, pair0 * (sign(a - b) * abs(pair1 * (a - b)) ^ (p - 1)))',
    );
  });

  test('recognises a norm inside a kernel, clamped or not', () => {
    const laplace = descriptorExpressions(
      { innerOperator: 'diff', innerPower: 'pow', outerPower: 'pow', kernel: 'laplace' },
      { p: 3, epsilon: true },
    );
    const { pairs } = rowsGradient(laplace, 'float64');
    const values = { s: 8, upstream: 1, bandwidth: 2, epsilon: 1e-5 };
    expect(pairs.map((pair) => evaluate(pair, values))).toEqual([
      expect.closeTo(-0.5 * Math.exp(-1), 12),
      expect.closeTo(0.5, 12),
    ]);
    expect(evaluate(pairs[0] ?? add(0, 0), { ...values, s: 1e-18 }) + 0).toBe(0);
  });

  test('has the same expressions for both operands of a symmetric kernel', () => {
    for (const p of [0.5, 1, 2, 3, 'runtime'] as const) {
      const forward = normExpressions(p);
      expect(exchangeOperands(forward).inner).toBe(forward.inner);
    }
    const ordered = { inner: sub(variable('b'), variable('a')), outer: variable('s') };
    const exchanged = exchangeOperands({ ...ordered, reduce: 'sum' });
    expect(print(exchanged.inner)).toBe('a - b');
  });
});

describe('parameterGradients', () => {
  test('takes the derivative of a norm by p as one sum of terms of one sign', () => {
    const { pairs, sums } = parameterGradients(normExpressions('runtime'), ['p'], 'float64');
    expect(pairs.length).toBe(2);
    const rows = [3, 4, 0].map((a) => ({ a, b: 0 }));
    const [p, s] = [2, 25];
    const kept = Object.fromEntries(
      pairs.map((pair, i) => [`pair${i}`, evaluate(pair, { s, p, upstream: 1 })]),
    );
    const terms = rows.map((row) => evaluate(sums[0]?.term ?? add(0, 0), { ...row, ...kept, p }));
    expect(terms.every((term) => term <= 0)).toBe(true);
    const distance = (q: number): number => (3 ** q + 4 ** q) ** (1 / q);
    const want = (distance(p + 1e-5) - distance(p - 1e-5)) / 2e-5;
    expect(terms.reduce((x, y) => x + y, 0)).toBeCloseTo(want, 8);
  });

  test('is one value per pair where the inner expression lacks the parameter', () => {
    const gaussian = descriptorExpressions(
      { innerOperator: 'diff', innerPower: 'square', outerPower: 'none', kernel: 'gaussian' },
      {},
    );
    const { pairs, sums } = parameterGradients(gaussian, ['bandwidth'], 'float64');
    expect(pairs).toEqual([]);
    expect(sums).toEqual([{ value: expect.anything() as unknown, term: undefined }]);
  });
});

describe('outerDerivative', () => {
  const [s, h] = [variable('s'), variable('h')];
  const x = mul(sqrt(s), h);

  test('takes a polynomial with an exponential as a whole', () => {
    const matern = mul(add(1, x), exp(neg(x)));
    const derivative = outerDerivative(matern, 's');
    // -h^2 e^-x / 2, to full precision where x is tiny
    const value = evaluate(derivative, { s: 1e-24, h: 2 });
    expect(Math.abs(value + 2)).toBeLessThan(1e-11);
    expect(evaluate(outerDerivative(matern, 'h'), { s: 4, h: 0.5 })).toBeCloseTo(
      -2 * Math.exp(-1),
      12,
    );
  });

  test('leaves everything else to the derivative table', () => {
    const clamped = select(lt(s, 1), 0, exp(neg(s)));
    expect(print(outerDerivative(clamped, 's'))).toBe('select(s < 1, 0, -exp(-s))');
  });
});
