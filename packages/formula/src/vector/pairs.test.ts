import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  dependences,
  diff,
  evaluateReduction,
  evaluateVector,
  finish,
  FormulaError,
  grad,
  ops,
  pairGradientSteps,
  parseFormula,
  parseReduction,
  printFormula,
  printReduction,
  reduction,
  reductionGradient,
  simplifyVector,
  substituteVector,
  unrollComponents,
  vi,
  vij,
  vj,
} from '../plan.js';
import { INPUTS, randomFormula } from './testing/random-formula.test-support.js';

const code = (wanted: string): Error => expect.objectContaining({ code: wanted }) as Error;
const [ROWS_I, ROWS_J] = [3, 4];

describe('values of pairs', () => {
  it('are the numbers of (i, j), for each i those of every j', () => {
    const data = [Float64Array.from({ length: ROWS_I * ROWS_J * 2 }, (_, e) => e)];
    const at = { i: 2, j: 1, rowsJ: ROWS_J };
    expect([...evaluateVector(vij(0, 2), data, at)]).toEqual([18, 19]);
  });

  it('are reduced over either side', () => {
    const m = [1, 2, 3, 4, 5, 6];
    const rows = { rowsI: 2, rowsJ: 3 };
    const byRow = reduction('Sum', ops.mul(vij(0, 1), vj(1, 1)));
    const byColumn = reduction('MaxArgMax', vij(0, 1), { axis: 0 });
    expect([...evaluateReduction(byRow, [m, [1, 10, 100]], rows).value!]).toEqual([321, 654]);
    expect([...evaluateReduction(byColumn, [m], rows).index!]).toEqual([1, 1, 1]);
  });

  it('need the number of rows of j', () => {
    const evaluate = (at: object): unknown => evaluateVector(vij(0, 1), [[1, 2]], at);
    expect(() => evaluate({ i: 0, j: 1 })).toThrow(/rowsJ is undefined and row j is 1/);
    expect(() => evaluate({ i: 0, j: 2, rowsJ: 2 })).toThrow(code('INVALID_ARGUMENT'));
    expect(() => evaluate({ i: 1, j: 1, rowsJ: 2 })).toThrow(/has 2 row\(s\) and row 3 is wanted/);
  });

  it('change with the pair', () => {
    const f = ops.add(vij(0, 1), vi(1, 1));
    expect(dependences(f).get(vij(0, 1))).toBe('pair');
    expect(dependences(f).get(f)).toBe('pair');
  });

  it('are written Vij, and read back', () => {
    const f = parseFormula('Exp(m) * b', ['m = Vij(0, 1)', 'b = Vj(2)']);
    expect(f).toBe(ops.mul(ops.exp(vij(0, 1)), vj(1, 2)));
    expect(printFormula(f)).toBe('Exp(Vij(0, 1)) * Vj(1, 2)');
    expect(parseFormula('Var(0, 3, 3)')).toBe(vij(0, 3));
    expect(parseFormula(printFormula(f))).toBe(f);
    const sum = reduction('Sum', f);
    expect(parseReduction(printReduction(sum))).toEqual(sum);
  });

  it('are no name for anything else, and no table', () => {
    expect(() => parseFormula('Vij', ['Vij = Vi(3)'])).toThrow(code('INVALID_NAME'));
    expect(() => parseFormula('Var(0, 3, 4)')).toThrow(/2 \(parameter\) or 3 \(pair\)/);
    expect(() => parseFormula('Vij(0, 1) + Vi(0, 1)')).toThrow(/have the same position/);
    expect(() => ops.gather(vij(0, 1), vi(1, 1))).toThrow(/has values of pairs, and no rows/);
    expect(() => parseFormula('Gather(Vij(0, 1), Vi(1, 1))')).toThrow(FormulaError);
  });

  it('are simplified and written out as other inputs', () => {
    const m = vij(0, 2);
    expect(simplifyVector(ops.mul(ops.neg(ops.neg(m)), 1))).toBe(m);
    expect(unrollComponents(ops.sum(m)).map((one) => printFormula(one))).toEqual([
      'Elem(Vij(0, 2), 0) + Elem(Vij(0, 2), 1)',
    ]);
  });

  it('have a derivative that is a value of the pair', () => {
    const [m, b, e] = [vij(0, 1), vj(1, 2), vi(2, 2)];
    const product = reduction('Sum', ops.mul(m, b));
    expect(finish(pairGradientSteps(product, m, e))).toBe(grad(ops.mul(m, b), m, e));
    const soft = reduction('LogSumExp', m);
    const byM = finish(pairGradientSteps(soft, m, 1, { value: vi(1, 1) }));
    const at = { i: 0, j: 1, rowsJ: 2 };
    const logSum = Math.log(Math.exp(0.5) + Math.exp(2));
    expect(evaluateVector(byM, [[0.5, 2], [logSum]], at)[0]).toBeCloseTo(Math.exp(2 - logSum), 14);
    expect(() => reductionGradient(product, m, e)).toThrow(/by the values of pairs of input 0/);
    expect(() => parseReduction('Grad(Sum_Reduction(Vij(0, 1), 0), Vij(0, 1), Vi(1, 1))')).toThrow(
      /derivative is a value of each pair/,
    );
    expect(diff(ops.square(m), m, 1)).toBe(diff(ops.square(vij(0, 1)), vij(0, 1), 1));
  });
});

const number = fc.double({ min: -2, max: 2, noNaN: true });
const [x, y, p, z] = INPUTS;

test('a random formula with a value of the pair is that of the value as a row, with its gradients', () => {
  let seen = 0;
  const numbers = (count: number): fc.Arbitrary<number[]> =>
    fc.array(number, { minLength: count, maxLength: count });
  fc.assert(
    fc.property(
      randomFormula(4),
      fc.tuple(numbers(9), numbers(12), numbers(1), numbers(ROWS_I * ROWS_J * 4)),
      fc.nat(ROWS_I - 1),
      fc.nat(ROWS_J - 1),
      (formula, [ofX, ofY, ofP, all], i, j) => {
        const pair = vij(3, 4);
        const paired = substituteVector(formula, new Map([[z, pair]]));
        if (paired !== formula) seen++;
        const place = (i * ROWS_J + j) * 4;
        const rows: number[] = [];
        for (let row = 0; row < ROWS_I; row++) rows.push(...all.slice(place, place + 4));
        const at = { i, j, rowsJ: ROWS_J };
        const asRow = [ofX, ofY, ofP, rows];
        const asPair = [ofX, ofY, ofP, all];
        expect(evaluateVector(paired, asPair, at)).toEqual(evaluateVector(formula, asRow, at));
        for (const by of [x, y, p]) {
          const byRow = evaluateVector(grad(formula, by), asRow, at);
          const byPair = evaluateVector(grad(paired, by), asPair, at);
          expect(byPair).toEqual(byRow);
        }
        const own = evaluateVector(grad(paired, pair), asPair, at);
        expect(own).toEqual(evaluateVector(grad(formula, z), asRow, at));
        expect(parseFormula(printFormula(paired))).toBe(paired);
      },
    ),
    { seed: 15, numRuns: 400 },
  );
  expect(seen).toBeGreaterThan(100);
});
