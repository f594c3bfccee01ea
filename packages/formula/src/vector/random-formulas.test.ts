import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  diff,
  evaluateVector,
  grad,
  ops,
  parseFormula,
  postOrderVector,
  printFormula,
  simplifyVector,
  vi,
  vj,
  type VectorExpr,
} from '../plan.js';
import { randomNumbers, slopeAtZero } from './testing/numbers.test-support.js';
import { INPUTS, randomFormula } from './testing/random-formula.test-support.js';

const formulas = fc.oneof(...[1, 2, 3, 4].map(randomFormula));
const seeds = fc.nat(1e9);
const runs = (numRuns: number): fc.Parameters<unknown> => ({ numRuns, seed: 20_240_517 });

/** Data for the inputs, weights of the components at 8, directions at 9 and on. */
function draw(root: VectorExpr, seed: number): number[][] {
  const random = randomNumbers(seed);
  const vector = (dim: number): number[] => Array.from({ length: dim }, () => 3 * random() - 1.5);
  const data: number[][] = INPUTS.map(({ dim }) => vector(dim));
  data[8] = vector(root.dim);
  for (const [k, { dim }] of INPUTS.entries()) data[9 + k] = vector(dim);
  return data;
}

const DIRECTIONS = INPUTS.map(({ dim }, k) => (k % 2 === 0 ? vi(9 + k, dim) : vj(9 + k, dim)));

const moved = (data: readonly number[][], t: number): number[][] =>
  data.map((values, at) => (at < 4 ? values.map((x, c) => x + t * data[9 + at]![c]!) : values));

/** The slope along the directions; undefined where two step sizes disagree: a kink is near. */
function slope(f: VectorExpr, data: readonly number[][]): number | undefined {
  const at = (t: number): number => evaluateVector(f, moved(data, t))[0]!;
  const [coarse, fine] = [slopeAtZero(at, 0.002), slopeAtZero(at, 0.001)];
  const isSmooth = Math.abs(coarse - fine) <= 1e-7 * (1 + Math.abs(fine));
  return isSmooth && Math.abs(fine) < 1e6 ? fine : undefined;
}

const gradientAlong = (f: VectorExpr): VectorExpr =>
  INPUTS.map((input, k) => ops.dot(grad(f, input), DIRECTIONS[k]!)).reduce((a, b) => ops.add(a, b));

function expectClose(got: number, wanted: number, tolerance: number, what: string): void {
  const allowed = tolerance * (1 + Math.abs(wanted));
  if (!(Math.abs(got - wanted) <= allowed)) throw new Error(`${what}: ${got}, not ${wanted}`);
}

describe('random formulas', () => {
  it('print as text that reads back as the same node', () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(formulas, (formula) => {
        for (const node of postOrderVector(formula)) kinds.add(node.kind);
        for (const one of [formula, simplifyVector(formula), grad(formula, INPUTS[0])]) {
          expect(parseFormula(printFormula(one))).toBe(one);
        }
      }),
      runs(1500),
    );
    const wanted = [
      'components',
      'concat',
      'contract',
      'elementwise',
      'interleave',
      'literal',
      'place',
      'repeat',
      'slice',
      'variable',
    ];
    expect([...kinds].sort()).toEqual(wanted);
  });

  it('keep their value when simplified, and simplifying twice changes nothing more', () => {
    let shorter = 0;
    fc.assert(
      fc.property(formulas, seeds, (formula, seed) => {
        const simple = simplifyVector(formula);
        expect(simple.dim).toBe(formula.dim);
        expect(simplifyVector(simple)).toBe(simple);
        if (simple !== formula) shorter++;
        const data = draw(formula, seed);
        const wanted = evaluateVector(formula, data);
        for (const [k, value] of evaluateVector(simple, data).entries()) {
          expectClose(value, wanted[k]!, 1e-9, printFormula(formula));
        }
      }),
      runs(2500),
    );
    expect(shorter).toBeGreaterThan(200);
  });

  it('carry NaN and infinite data through simplification', () => {
    let special = 0;
    const data = fc.constantFrom(NaN, Infinity, -Infinity, 0, 1, -2, 0.5);
    fc.assert(
      fc.property(formulas, fc.array(data, { minLength: 11, maxLength: 11 }), (formula, values) => {
        const rows = [values.slice(0, 3), values.slice(3, 6), values.slice(6, 7), values.slice(7)];
        const wanted = evaluateVector(formula, rows);
        for (const [k, value] of evaluateVector(simplifyVector(formula), rows).entries()) {
          if (!Number.isFinite(wanted[k]!)) special++;
          // Structural zeros may be dropped: a finite value in the place of NaN, never another one.
          if (Number.isNaN(wanted[k]) && formulaPlaces(formula)) continue;
          const same =
            Object.is(value + 0, wanted[k]! + 0) ||
            Math.abs(value - wanted[k]!) <= 1e-9 * (1 + Math.abs(value));
          expect(same, `${printFormula(formula)}: ${value}, not ${wanted[k]!}`).toBe(true);
        }
      }),
      runs(2500),
    );
    expect(special).toBeGreaterThan(500);
  });

  it('have the derivatives that finite differences show, once and twice, in both modes', () => {
    const counts = { first: 0, second: 0, skipped: 0 };
    fc.assert(
      fc.property(fc.oneof(...[1, 2, 3].map(randomFormula)), seeds, (formula, seed) => {
        const data = draw(formula, seed);
        const scalar = ops.dot(vi(8, formula.dim), formula);
        const wanted = slope(scalar, data);
        if (wanted === undefined) {
          counts.skipped++;
          return;
        }
        const text = printFormula(scalar);
        const once = gradientAlong(scalar);
        expectClose(evaluateVector(once, data)[0]!, wanted, 1e-6, `gradient of ${text}`);
        const forward = diff(scalar, INPUTS, DIRECTIONS);
        expectClose(evaluateVector(forward, data)[0]!, wanted, 1e-6, `tangent of ${text}`);
        if (wanted !== 0) counts.first++;
        const second = slope(once, data);
        if (second === undefined) return;
        const twice = evaluateVector(gradientAlong(once), data)[0]!;
        expectClose(twice, second, 1e-5, `second gradient of ${text}`);
        expectClose(
          evaluateVector(diff(forward, INPUTS, DIRECTIONS), data)[0]!,
          second,
          1e-5,
          `second tangent of ${text}`,
        );
        if (second !== 0) counts.second++;
      }),
      runs(600),
    );
    console.log(`random formulas: ${JSON.stringify(counts)}`);
    expect(counts.first).toBeGreaterThan(300);
    expect(counts.second).toBeGreaterThan(200);
  });
});

/** Whether there are structural zeros in a formula. */
function formulaPlaces(formula: VectorExpr): boolean {
  return postOrderVector(formula).some(({ kind }) => kind === 'place');
}
