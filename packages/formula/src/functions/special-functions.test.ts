import { describe, expect, it } from 'vitest';
import { MATH, type MathOp } from './math-ops.js';
import { BESSEL_AND_RADIAL_VALUES } from '../vector/testing/bessel-and-radial-values.test-support.js';
import { GAMMA_AND_ERF_VALUES } from '../vector/testing/gamma-and-erf-values.test-support.js';

const REFERENCE_VALUES = [...GAMMA_AND_ERF_VALUES, ...BESSEL_AND_RADIAL_VALUES];

/** Allowed relative error; near a zero of an oscillating or digamma-like function, relative to 1. */
const TOLERANCE: Partial<Record<MathOp, { relative: number; absolute?: number }>> = {
  erf: { relative: 2e-15 },
  erfc: { relative: 4e-15 },
  lgamma: { relative: 2e-14 },
  polygamma: { relative: 1e-12 },
  besselJ: { relative: 1e-13, absolute: 2e-15 },
  besselK: { relative: 1e-13 },
  radialBesselK: { relative: 1e-13 },
  sinXDivX: { relative: 1e-12, absolute: 1e-13 },
  radialWendland: { relative: 1e-12, absolute: 1e-15 },
};

describe('special functions', () => {
  const names = [...new Set(REFERENCE_VALUES.map(([op]) => op))] as MathOp[];

  it.each(names)('%s agrees with 40-digit arithmetic', (op) => {
    const { relative, absolute = 0 } = TOLERANCE[op]!;
    let count = 0;
    for (const [, attributes, x, wanted] of REFERENCE_VALUES.filter(([name]) => name === op)) {
      const got = MATH[op].evaluate([x], attributes);
      if (!Number.isFinite(wanted)) expect(got).toBe(wanted);
      else {
        const error = Math.abs(got - wanted);
        const allowed = relative * Math.abs(wanted) + absolute;
        expect(
          error,
          `${op}(${x}; ${attributes.join()}) = ${got}, not ${wanted}`,
        ).toBeLessThanOrEqual(allowed);
      }
      count++;
    }
    expect(count).toBeGreaterThan(10);
  });

  it('carry NaN and know their ends', () => {
    for (const op of names) {
      const attributes = Array<number>(MATH[op].attributes).fill(1);
      expect(MATH[op].evaluate([NaN], attributes), op).toBeNaN();
    }
    const at = (op: MathOp, x: number, ...attributes: number[]): number =>
      MATH[op].evaluate([x], attributes);
    expect([at('erf', Infinity), at('erf', -Infinity)]).toEqual([1, -1]);
    expect([at('erfc', Infinity), at('erfc', -Infinity)]).toEqual([0, 2]);
    expect([at('lgamma', 0), at('lgamma', -3), at('lgamma', Infinity)]).toEqual([
      Infinity,
      Infinity,
      Infinity,
    ]);
    expect([at('polygamma', -2, 0), at('polygamma', 0, 1)]).toEqual([NaN, NaN]);
    expect([at('besselJ', Infinity, 0), at('besselJ', 0, 0), at('besselJ', 0, 3)]).toEqual([
      0, 1, 0,
    ]);
    expect([
      at('besselJ', 5e-324, 0),
      at('besselJ', 1e-300, 1),
      at('polygamma', -5e-324, 0),
    ]).toEqual([1, 5e-301, Infinity]);
    // exactly, by symmetry: the cotangent of a half is 0
    expect(at('polygamma', -0.5, 20)).toBeCloseTo(at('polygamma', 1.5, 20), -4);
    expect([at('besselK', 0, 1), at('besselK', -1, 1), at('besselK', Infinity, 1)]).toEqual([
      Infinity,
      NaN,
      0,
    ]);
    // Far out and near 0, where parts of the sum leave the range.
    expect([
      at('besselK', 800, 0),
      at('besselK', 1e9, 2.3),
      at('besselK', 1.7e308, 0),
      at('radialBesselK', 1e12, -63.7),
      at('radialBesselK', 1.7e308, 2),
    ]).toEqual([0, 0, 0, 0, 0]);
    expect(at('besselK', 1e-300, 0)).toBeCloseTo(690.891_459_413_872_1, 9);
    expect(at('besselK', 5e-324, 0)).toBeCloseTo(744.556_003_437, 8);
    expect(at('besselK', 1e-200, 2.3)).toBe(Infinity);
    expect(at('radialBesselK', 1e-300, 2.3)).toBeCloseTo(2 ** 1.3 * 1.1667119051981603, 12);
    expect([at('radialBesselK', 0, -0.5), at('radialBesselK', 0, 0)]).toEqual([0, 0]);
    expect(at('radialBesselK', 0, 1.5)).toBeCloseTo(Math.sqrt(Math.PI / 2), 14);
    expect([at('radialWendland', 1, 3, 1), at('radialWendland', 0, 3, -1)]).toEqual([0, 0]);
    expect([
      at('radialPower', 0, -0.5),
      at('radialPower', 0, 0),
      at('radialPower', 4, 0.5),
    ]).toEqual([0, 1, 2]);
    expect([at('radialLog', 0, 1), at('radialLog', Math.E ** 2, 0)]).toEqual([0, 1]);
    expect([at('round', 2.5, 0), at('round', -2.5, 0), at('round', 0.125, 2)]).toEqual([
      3, -3, 0.13,
    ]);
  });
});
