import { describe, expect, it } from 'vitest';
import {
  diff,
  evaluateVector,
  grad,
  ops,
  parseFormula,
  printFormula,
  vi,
  vj,
  type VariableNode,
  type VectorExpr,
} from '../index.js';
import { OPERATIONS } from './text/operation-names.js';
import { postOrderVector } from './post-order-vector.js';
import { ELEMENTWISE_NAMES } from './text/elementwise-names.js';
import { drawInputs, randomNumbers, slopeAtZero } from './testing/numbers.test.helper.js';
import { OPERATION_CASES, type OperationCase } from './testing/operation-cases.test.helper.js';

const NAMES = ['a', 'b', 'c'] as const;
/** Tested by name in operators.test.ts. */
const OPERATORS = [
  'Grad',
  'Diff',
  'GradMatrix',
  'Divergence',
  'Laplacian',
  'AdjointOperator',
  'TraceOperator',
  'SumLinOperator',
];

const inputsOfCase = ({ inputs }: OperationCase): Record<string, VariableNode> =>
  Object.fromEntries(inputs.map(([dim], k) => [NAMES[k]!, k === 1 ? vj(k, dim) : vi(k, dim)]));

const cases = OPERATION_CASES.map((one) => [one.text, one] as const);

describe('every operation', () => {
  it('of the text language has a case here', () => {
    const called = new Set(OPERATION_CASES.flatMap(({ text }) => text.match(/\w+(?=\()/g) ?? []));
    const missing = [...OPERATIONS.keys()].filter(
      (name) => !called.has(name) && !OPERATORS.includes(name),
    );
    expect(missing).toEqual([]);
    const ops = new Set(
      OPERATION_CASES.flatMap((one) =>
        postOrderVector(parseFormula(one.text, inputsOfCase(one))).map((n) =>
          n.kind === 'elementwise' ? n.op : n.kind,
        ),
      ),
    );
    expect(Object.keys(ELEMENTWISE_NAMES).filter((op) => !ops.has(op as never))).toEqual([]);
  });

  it.each(cases)('has its value: %s', (_, one) => {
    const formula = parseFormula(one.text, inputsOfCase(one));
    const random = randomNumbers(11);
    for (let n = 0; n < 8; n++) {
      const data = drawInputs(one, random);
      const wanted = one.oracle(...data);
      const got = evaluateVector(formula, data);
      expect(got.length).toBe(wanted.length);
      for (const [k, value] of wanted.entries()) {
        const allowed = (one.tolerance ?? 1e-12) * (1 + Math.abs(value));
        expect(
          Math.abs(got[k]! - value),
          `component ${k}: ${got[k]!} and ${value}`,
        ).toBeLessThanOrEqual(allowed);
      }
    }
    expect(parseFormula(printFormula(formula))).toBe(formula);
  });

  it.each(cases)('is differentiated three times: %s', (_, one) => {
    const variables = Object.values(inputsOfCase(one));
    const formula = parseFormula(one.text, inputsOfCase(one));
    const sources = one.text.startsWith('Gather') ? variables.slice(1) : variables;
    const random = randomNumbers(5);
    // One number of all components, along one direction of all inputs at once.
    const weights = vi(8, formula.dim);
    const directions = sources.map((source, k) => vj(9 + k, source.dim));
    const data: number[][] = drawInputs(one, random);
    const vector = (dim: number): number[] => Array.from({ length: dim }, () => 2 * random() - 1);
    data[8] = vector(formula.dim);
    for (const [k, source] of sources.entries()) data[9 + k] = vector(source.dim);
    const along = (t: number): number[][] =>
      data.map((values, at) => {
        const k = sources.findIndex((source) => source.position === at);
        return k < 0 ? values : values.map((x, c) => x + t * data[9 + k]![c]!);
      });
    let derivative: VectorExpr = ops.dot(weights, formula);
    for (let order = 1; order <= 3; order++) {
      const before = derivative;
      const wanted = slopeAtZero((t) => evaluateVector(before, along(t))[0]!, 0.004);
      derivative = diff(before, sources, directions);
      const forward = evaluateVector(derivative, data)[0]!;
      const scale = 1 + Math.abs(wanted);
      expect(
        Math.abs(forward - wanted) / scale,
        `order ${order}: ${forward} and ${wanted}`,
      ).toBeLessThan(2e-6);
      const backward = sources
        .map((source, k) => ops.dot(grad(before, source), directions[k]!))
        .reduce((sum, term) => ops.add(sum, term));
      const difference = evaluateVector(backward, data)[0]! - forward;
      expect(Math.abs(difference) / scale, `order ${order}: reverse and forward mode`).toBeLessThan(
        1e-9,
      );
    }
  });
});
