import { evaluate, print } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { isSpecialisedNorm, normExpressions } from './norm-expressions.js';

test.each([
  [1, 'abs(a - b)', 's', 'sum'],
  [2, '(a - b) * (a - b)', 'sqrt(s)', 'sum'],
  [Infinity, 'abs(a - b)', 's', 'max'],
  [0.5, 'sqrt(abs(a - b))', 's * s', 'sum'],
  [0.25, 'sqrt(sqrt(abs(a - b)))', 's * s * (s * s)', 'sum'],
  [0.75, 'sqrt(abs(a - b)) * sqrt(sqrt(abs(a - b)))', `s ^ ${1 / 0.75}`, 'sum'],
  [1.25, 'abs(a - b) * sqrt(sqrt(abs(a - b)))', 's ^ 0.8', 'sum'],
  [3, '(a - b) * (a - b) * abs(a - b)', `s ^ ${1 / 3}`, 'sum'],
  ['runtime', 'abs(a - b) ^ p', 's ^ (1 / p)', 'sum'],
] as const)('p = %s', (p, inner, outer, reduce) => {
  const norm = normExpressions(p);
  expect([print(norm.inner), print(norm.outer), norm.reduce]).toEqual([inner, outer, reduce]);
});

test('skipEpilogue leaves the sum alone', () => {
  for (const p of [1, 2, 2.5, 'runtime'] as const) {
    expect(print(normExpressions(p, { skipEpilogue: true }).outer)).toBe('s');
  }
});

describe('every exponent means the same as its definition', () => {
  test.each([
    0.25, 0.5, 0.75, 1, 1.25, 1.3, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.75, 4.5, 8, 11,
  ])('p = %f', (p) => {
    const { inner, outer } = normExpressions(p);
    for (const [a, b] of [
      [3, 1],
      [-1.5, 2.25],
      [7, 7],
    ] as const) {
      const term = evaluate(inner, { a, b });
      expect(term).toBeCloseTo(Math.abs(a - b) ** p, 9);
      expect(evaluate(outer, { s: term })).toBeCloseTo(Math.abs(a - b), 9);
    }
  });
});

test.each([0, -1, Number.NaN, -Infinity])('refuses p = %f', (p) => {
  expect(() => normExpressions(p)).toThrow(`cannot build the ${p}-norm`);
});

test('which exponents have their own text', () => {
  expect([0.25, 0.5, 0.75, 1, 1.75, 2, 3.75, 4, 7.5, 8, Infinity].every(isSpecialisedNorm)).toBe(
    true,
  );
  expect(
    [0, 1.3, 0.125, 4.25, 7.75, 8.5, 9, -Infinity, Number.NaN, -1].some(isSpecialisedNorm),
  ).toBe(false);
});
