import { describe, expect, it } from 'vitest';
import {
  evaluateReduction,
  evaluateVector,
  inputsOf,
  parseAliases,
  parseFormula,
  parseReduction,
  printFormula,
  simplifyVector,
} from '../../index.js';
import { CORPUS } from '../testing/corpus.test-support.js';
import { randomNumbers } from '../testing/numbers.test-support.js';

describe("formulas of KeOps' tests, tutorials and issues", () => {
  it.each(CORPUS.map((one) => [`${one.source}: ${one.text}`, one] as const))('%s', (_, one) => {
    const formula = parseFormula(one.text, one.aliases);
    const names = parseAliases(one.aliases);
    const known = new Map([...names].map(([name, node]) => [node.position, name]));
    const random = randomNumbers(3);
    for (let n = 0; n < 4; n++) {
      const data: number[][] = [];
      const byName: Record<string, number[]> = {};
      for (const { position, dim } of [...names.values(), ...inputsOf(formula)]) {
        data[position] ??= Array.from({ length: dim }, () => 0.2 + 1.3 * random());
        byName[known.get(position) ?? `v${position}`] = data[position];
      }
      const wanted = one.value(byName);
      for (const form of [formula, simplifyVector(formula)]) {
        const got = evaluateVector(form, data);
        expect(got.length).toBe(wanted.length);
        for (const [k, value] of wanted.entries()) {
          expect(Math.abs(got[k]! - value)).toBeLessThanOrEqual(1e-12 * (1 + Math.abs(value)));
        }
      }
    }
    expect(parseFormula(printFormula(formula, { names }), one.aliases)).toBe(formula);
  });

  it('whole reductions as its compiler gets them', () => {
    const rows = { rowsI: 3, rowsJ: 2 };
    const x = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const y = [3, 4, 5, 6, 7, 8];
    const install = parseReduction('Sum_Reduction(SqNorm2(x - y),1)', ['x=Vi(3)', 'y=Vj(3)']);
    expect([...evaluateReduction(install, [x, y], rows).value!]).toEqual([63, 90]);

    const quotient = parseReduction(
      'Sum_Reduction((Exp(Minus(Sum(Square((Var(0,3,0) / Var(1,3,1)))))) * Var(2,1,1)),0)',
    );
    const values = evaluateReduction(quotient, [x, y, [2, -1]], rows).value!;
    const term = (i: number, j: number): number =>
      Math.exp(-[0, 1, 2].reduce((s, k) => s + (x[3 * i + k]! / y[3 * j + k]!) ** 2, 0));
    for (const i of [0, 1, 2]) expect(values[i]).toBeCloseTo(2 * term(i, 0) - term(i, 1), 14);

    const scalar = parseReduction('Sum_Reduction(Sum((Var(0, 1, 0) - Var(1, 1, 1))), 1)');
    expect([
      ...evaluateReduction(
        scalar,
        [
          [1, 2, 4],
          [1, 10],
        ],
        rows,
      ).value!,
    ]).toEqual([4, -23]);
  });
});
