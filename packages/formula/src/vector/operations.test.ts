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
import type { OperationCase } from './testing/operation-case.test-support.js';
import { OPERATIONS } from './text/operation-names.js';
import { postOrderVector } from './post-order-vector.js';
import { ELEMENTWISE_NAMES } from './text/elementwise-names.js';
import { drawInputs, randomNumbers, slopeAtZero } from './testing/numbers.test-support.js';
import { OPERATION_CASES } from './testing/operation-cases.test-support.js';

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

/** Step of the finite differences. */
const STEP = 0.003;

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
    const scalar = ops.dot(vi(8, formula.dim), formula);
    const directions = sources.map((source, k) => vj(9 + k, source.dim));
    for (let n = 0; n < 3; n++) {
      const { data, along } = smoothPoint(one, scalar, sources, random);
      let derivative: VectorExpr = scalar;
      for (let order = 1; order <= 3; order++) {
        const before = derivative;
        const wanted = slopeAtZero((t) => evaluateVector(before, along(t))[0]!, STEP);
        derivative = diff(before, sources, directions);
        const forward = evaluateVector(derivative, data)[0]!;
        const scale = 1 + Math.abs(wanted);
        const what = `order ${order}: ${forward} and ${wanted}`;
        expect(Math.abs(forward - wanted) / scale, what).toBeLessThan(5e-6);
        const backward = sources
          .map((source, k) => ops.dot(grad(before, source), directions[k]!))
          .reduce((sum, term) => ops.add(sum, term));
        const difference = evaluateVector(backward, data)[0]! - forward;
        expect(Math.abs(difference) / scale, `${what}, reverse mode`).toBeLessThan(1e-9);
      }
    }
  });
});

interface Point {
  /** Inputs, weights of the components at 8, directions of the sources at 9 and on. */
  readonly data: readonly number[][];
  /** The data moved along the directions. */
  readonly along: (t: number) => number[][];
}

/** A point with no jump or kink within reach of the differences: two step sizes agree there. */
function smoothPoint(
  one: OperationCase,
  scalar: VectorExpr,
  sources: readonly VariableNode[],
  random: () => number,
): Point {
  const vector = (dim: number): number[] => Array.from({ length: dim }, () => 2 * random() - 1);
  for (let tries = 0; tries < 50; tries++) {
    const data: number[][] = drawInputs(one, random);
    data[8] = vector(parseFormula(one.text, inputsOfCase(one)).dim);
    for (const [k, source] of sources.entries()) data[9 + k] = vector(source.dim);
    const along = (t: number): number[][] =>
      data.map((values, at) => {
        const k = sources.findIndex((source) => source.position === at);
        return k < 0 ? values : values.map((x, c) => x + t * data[9 + k]![c]!);
      });
    const f = (t: number): number => evaluateVector(scalar, along(t))[0]!;
    const [coarse, fine] = [slopeAtZero(f, STEP), slopeAtZero(f, STEP / 2)];
    if (Math.abs(coarse - fine) <= 1e-6 * (1 + Math.abs(fine))) return { data, along };
  }
  throw new Error(`no smooth point of ${one.text}`);
}
