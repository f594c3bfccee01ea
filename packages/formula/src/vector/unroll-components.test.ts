import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  evaluateVector,
  grad,
  ops,
  parseFormula,
  postOrderVector,
  unrollComponents,
  vi,
  vj,
  type VectorExpr,
} from '../plan.js';
import { drawInputs, randomNumbers } from './testing/numbers.test-support.js';
import { OPERATION_CASES } from './testing/operation-cases.test-support.js';
import { INPUTS, randomFormula } from './testing/random-formula.test-support.js';

/** Every component of the formula against its own formula, NaN and infinities included. */
function expectSame(formula: VectorExpr, data: readonly number[][], i = 0, j = 0): void {
  const components = unrollComponents(formula);
  expect(components.length).toBe(formula.dim);
  const wanted = evaluateVector(formula, data, { i, j });
  for (const [k, component] of components.entries()) {
    for (const node of postOrderVector(component)) {
      const isLeaf = ['literal', 'variable', 'index', 'gather'].includes(node.kind);
      const isElement =
        node.kind === 'slice' && ['variable', 'gather'].includes(node.args[0]!.kind);
      expect(
        isLeaf || isElement || (node.kind === 'elementwise' && node.dim === 1),
        node.kind,
      ).toBe(true);
    }
    expect(evaluateVector(component, data, { i, j })[0]! + 0).toBe(wanted[k]! + 0);
  }
}

describe('unrollComponents', () => {
  it.each(OPERATION_CASES.map((one) => [one.text, one] as const))(
    'has the values of %s',
    (text, one) => {
      const names = {
        a: vi(0, one.inputs[0]![0]),
        b: vj(1, one.inputs[1]?.[0] ?? 1),
        c: vi(2, one.inputs[2]?.[0] ?? 1),
      };
      const random = randomNumbers(21);
      const formula = parseFormula(text, names);
      for (let n = 0; n < 3; n++) expectSame(formula, drawInputs(one, random));
    },
  );

  it('keeps the values of random formulas and their gradients, special data included', () => {
    const values = fc.array(
      fc.oneof(fc.double({ min: -2, max: 2 }), fc.constantFrom(NaN, Infinity, 0, 1, 1)),
      {
        minLength: 11,
        maxLength: 11,
      },
    );
    fc.assert(
      fc.property(fc.oneof(...[1, 2, 3].map(randomFormula)), values, (formula, v) => {
        const data = [v.slice(0, 3), v.slice(3, 6), v.slice(6, 7), v.slice(7)];
        expectSame(formula, data);
        expectSame(grad(formula, INPUTS[0]), data);
      }),
      { numRuns: 500, seed: 8 },
    );
  });

  it('tells the first of equal extrema, and the first NaN', () => {
    const a = vi(0, 4);
    const f = ops.concat(
      ops.argMax(a),
      ops.argMin(a),
      ops.max(a),
      ops.min(a),
      ops.oneHot(ops.argMax(a), 4),
    );
    for (const data of [
      [1, 3, 3, 1],
      [2, NaN, 3, NaN],
      [NaN, NaN, 0, 0],
      [-Infinity, -Infinity, 0, 0],
    ]) {
      expectSame(f, [data]);
    }
  });

  it('shares what components have in common', () => {
    const [x, y] = [vi(0, 8), vj(1, 8)];
    const gradient = grad(ops.exp(ops.neg(ops.sqDist(x, y))), x);
    const nodes = new Set(unrollComponents(gradient).flatMap((one) => postOrderVector(one)));
    // 16 inputs, 8 differences and squares, 7 sums, and a few for each component
    expect(nodes.size).toBeLessThan(70);
  });

  it('leaves what is too large to loops', () => {
    expect(() => unrollComponents(ops.sum(vi(0, 100_000)))).toThrow(
      /200000 operations.*limit is 65536\. Loop over components instead/,
    );
  });
});
