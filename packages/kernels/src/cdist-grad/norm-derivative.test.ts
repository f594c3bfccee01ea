import { evaluate, print } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { isSpecialisedDerivative, normDerivative } from './norm-derivative.js';

const NORMS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.25, 2.5, 3, 3.75, 4, 7.5, 9];

describe('the derivative of |delta|^p / p', () => {
  test.each(NORMS)('p = %d is sign(delta) |delta|^(p - 1)', (p) => {
    expect(isSpecialisedDerivative(p)).toBe(true);
    for (const delta of [-3.5, -1, -0.01, 0.25, 1, 17]) {
      const wanted = Math.sign(delta) * Math.abs(delta) ** (p - 1);
      for (const phi of [normDerivative(p), normDerivative('runtime')]) {
        const got = evaluate(phi, { delta, p });
        expect(Math.abs(got - wanted)).toBeLessThanOrEqual(1e-14 * Math.abs(wanted));
      }
    }
  });

  test.each([...NORMS, 0.1, 1.3, 4.3])('p = %d is 0 at 0', (p) => {
    expect(evaluate(normDerivative(p), { delta: 0 }) + 0).toBe(0);
    expect(evaluate(normDerivative('runtime'), { delta: 0, p }) + 0).toBe(0);
  });

  test('keeps NaN', () => {
    for (const p of NORMS) expect(evaluate(normDerivative(p), { delta: NaN })).toBeNaN();
  });

  test('is written with products and roots alone', () => {
    for (const p of NORMS) expect(print(normDerivative(p))).not.toContain('^');
    expect(print(normDerivative(2))).toBe('delta');
    expect(print(normDerivative(3))).toBe('delta * abs(delta)');
  });

  test('other exponents are taken at run time, impossible ones are refused', () => {
    for (const p of [1.3, 0.1, 9.1, 5.25, 10.5, Infinity, 0, -1, NaN]) {
      expect(isSpecialisedDerivative(p)).toBe(false);
    }
    for (const p of [0, -1, NaN, Infinity]) expect(() => normDerivative(p)).toThrow(String(p));
  });
});
