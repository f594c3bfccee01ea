import {
  add,
  evaluate,
  finish,
  mul,
  ops,
  postOrder,
  reduction,
  variable,
  vi,
  vj,
  type RealExpr,
} from '@mercer/formula/plan';
import { describe, expect, it } from 'vitest';
import { kernelContent } from '../emitted-kernel.js';
import { emitMapReduce } from '../map-reduce/emit.js';
import { planMapReduce } from '../map-reduce/plan.js';
import { blockedSums } from './blocked-sums.js';
import { mapReduceStages, type RowSide } from './map-reduce-program.js';

const limits = {
  ...({ kind: 'cpu', level: 'x86-64-v2', cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const),
  interpreted: true,
} as const;
const planOf = (dim: number) =>
  planMapReduce(
    {
      reduction: reduction('Sum', ops.sqDist(vi(0, dim), vj(1, dim))),
      ...({ dtype: 'float32', rowsI: 10, rowsJ: 10, batch: 1 } as const),
    },
    limits,
  );

const terms = (count: number): RealExpr[] =>
  Array.from({ length: count }, (_, n) => variable(`x${n}`));
const sumOf = (all: readonly RealExpr[]): RealExpr => all.reduce((sum, term) => add(sum, term));
const depth = (root: RealExpr): number => {
  const depths = new Map<unknown, number>();
  for (const node of postOrder(root)) {
    depths.set(node, 1 + Math.max(0, ...node.args.map((arg) => depths.get(arg) ?? 0)));
  }
  return depths.get(root) ?? 0;
};

describe('long formulas on the interpreter', () => {
  it('are written out far beyond what is compiled, up to a limit that is named', () => {
    expect('form' in planOf(2000)).toBe(false);
    expect(() => planOf(200_000)).toThrow(/interpreter of CPU kernels takes 524288 operations/);
    expect(() => planOf(200_000)).toThrow(
      /takes 1000000 operations, 200000 components and 2 numbers. Compute parts of it first and pass them as inputs/,
    );
  });

  it('are programs alone, which are told apart without a text', () => {
    const [one, two] = [planOf(20), planOf(21)].map((plan) => emitMapReduce(plan).steps[0]?.kernel);
    expect(one?.source).toBe('');
    expect(one && kernelContent(one)).not.toEqual(two && kernelContent(two));
  });
});

describe('sums in blocks', () => {
  it('have the same value, and rounding that grows with the length of a block', () => {
    const all = terms(1000);
    const shared = sumOf(all);
    const [blocked, other] = finish(blockedSums([mul(shared, shared), sumOf(terms(5))]));
    const values = Object.fromEntries(all.map((_, n) => [`x${n}`, n]));
    expect(blocked && evaluate(blocked, values)).toBe((999 * 500) ** 2);
    expect(blocked && depth(blocked)).toBeLessThan(270);
    expect(depth(shared)).toBe(1000);
    expect(other).toBe(sumOf(terms(5)));
  });

  it('keep what others read, and the terms between them', () => {
    const part = sumOf(terms(400));
    const whole = add(add(part, variable('y')), variable('z'));
    const [blocked] = finish(blockedSums([mul(whole, part)]));
    const values = Object.fromEntries(terms(400).map((_, n) => [`x${n}`, 1]));
    expect(blocked && evaluate(blocked, { ...values, y: 3, z: 4 })).toBe(407 * 400);
  });

  it('leave formulas alone that have none', () => {
    const roots = [sumOf(terms(200))];
    expect(finish(blockedSums(roots))).toBe(roots);
  });
});

describe('parts of one row alone', () => {
  const sides: Readonly<Record<string, RowSide>> = { a: 'own', b: 'other', g: 'both' };
  const [a, b, g, p] = ['a', 'b', 'g', 'p'].map((name) => variable(name)) as [
    ReturnType<typeof variable>,
    ReturnType<typeof variable>,
    ReturnType<typeof variable>,
    ReturnType<typeof variable>,
  ];

  it('are found for either side, of parameters with the other, of gathered rows with neither', () => {
    const [own, other, ofParameters] = [mul(a, add(a, p)), mul(b, p), mul(p, p)];
    const gathered = mul(g, add(g, p));
    const root = add(add(mul(own, other), gathered), ofParameters);
    expect(finish(mapReduceStages([root], (name) => sides[name]))).toEqual({
      own: [own],
      other: expect.arrayContaining([other, ofParameters]) as unknown,
    });
  });
});
