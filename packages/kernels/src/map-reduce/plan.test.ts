import {
  ops,
  reduction,
  vi,
  vj,
  type Reduction,
  type ReductionKind,
  type ReductionOptions,
  type VectorExpr,
  postOrder,
} from '@mercer/formula/plan';
import { describe, expect, test } from 'vitest';
import { H200 } from '../testing/h200.test-support.js';
import { emitMapReduce } from './emit.js';
import type { MapReducePlan } from './plan-types.js';
import { planMapReduce } from './plan.js';
import type { MapReduceProblem } from './problem.js';
import { plainCopy } from '../testing/plain-copy.test-support.js';

const CPU = {
  ...({ kind: 'cpu', level: 'x86-64-v3', cores: 2 } as const),
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
};
const SIZED = { dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 } as const;
const plan = (one: Reduction, limits: typeof CPU | typeof H200 = CPU): MapReducePlan =>
  planMapReduce({ ...SIZED, reduction: one }, limits);
const refusal = (formula: VectorExpr) => (): unknown => plan(reduction('Sum', formula));

describe('plans of map-reduce', () => {
  test('are frozen data, and say what they do', () => {
    for (const limits of [CPU, H200]) {
      const one = plan(reduction('Sum', ops.sqDist(vi(0, 3), vj(1, 3))), limits);
      const copy = plainCopy(one);
      expect(Object.isFrozen(one)).toBe(true);
      expect(copy).toEqual(one);
      const source = ({ steps: [first] }: ReturnType<typeof emitMapReduce>) => first?.kernel.source;
      expect(source(emitMapReduce(copy))).toBe(source(emitMapReduce(one)));
      expect(one.summary).toMatch(/^map-reduce float32 Sum over j of 1, i 3 j 3, /);
    }
  });

  test('shared parts of a formula stay shared', () => {
    let formula: VectorExpr = ops.mul(vi(0, 1), vj(1, 1));
    for (let depth = 0; depth < 40; depth += 1) formula = ops.add(formula, ops.tanh(formula));
    const one = plan(reduction('Sum', formula));
    if ('form' in one) throw new TypeError('the formula has no long vectors');
    expect(postOrder(...one.values).length).toBeLessThan(100);
    expect(emitMapReduce(one).steps[0]?.kernel.source.length).toBeLessThan(20_000);
  });

  test('what has no kernel text is named', () => {
    expect(refusal(ops.polygamma(vi(0, 1), 21))).toThrow(
      /'polygamma' of order 21: .* up to order 20/,
    );
  });

  test('reductions of one pass have one axis', () => {
    const further = [reduction('Min', vi(0, 1)), reduction('Max', vi(0, 1), { axis: 0 })];
    expect(() =>
      planMapReduce({ ...SIZED, reduction: reduction('Sum', vj(1, 1)), further }, CPU),
    ).toThrow(/the first reduction has axis 1, and Max has axis 0/);
  });

  test('what several reductions share is computed once', () => {
    const distance = ops.sqDist(vi(0, 3), vj(1, 3));
    const bell = ops.exp(ops.neg(distance));
    const nodes = (...all: Reduction[]): number => {
      const [first = reduction('Sum', 0), ...further] = all;
      const one = planMapReduce({ ...SIZED, reduction: first, further }, CPU);
      return 'form' in one ? NaN : postOrder(...one.values).length;
    };
    const one = nodes(reduction('Sum', bell));
    expect(nodes(reduction('Sum', bell), reduction('Min', distance))).toBe(one);
    expect(nodes(reduction('Sum', bell), reduction('Max', bell), reduction('Var', bell))).toBe(one);
  });

  test.each([
    [
      'float64 from 16 bits',
      { dtype: 'float64', storage: { 0: 'float16' } },
      /the data type is float64/,
    ],
    [
      'an input that no formula reads',
      { storage: { 7: 'bfloat16' } },
      /storage of input 7 is given/,
    ],
    ['another type', { storage: { 0: 'int8' } }, /input 0 is stored as 'int8'/],
  ])('%s is refused', (_, change, message) => {
    const problem = { ...SIZED, reduction: reduction('Sum', vi(0, 1)), ...change };
    expect(() => planMapReduce(problem as MapReduceProblem, CPU)).toThrow(message);
  });

  test.each([
    [
      'sums narrower than the data',
      { dtype: 'float64', accumulate: 'float32' },
      /sums of float64 are accumulated in float32/,
    ],
    ['sums of 16 bits', { accumulate: 'float16' }, /accumulated in float16/],
    ['an unknown scheme', { sumScheme: 'pairwise' }, /there is no sum scheme 'pairwise'/],
    [
      'float64 and compensated',
      { accumulate: 'float64', sumScheme: 'kahan' },
      /accumulated in float64 and compensated/,
    ],
    [
      'what is no sum',
      { reduction: reduction('Min', vi(0, 1)), sumScheme: 'kahan' },
      /Min takes neither/,
    ],
    [
      'what is no sum beside a sum',
      { further: [reduction('Var', vi(0, 1))], accumulate: 'float64' },
      /Var takes neither/,
    ],
  ])('%s is refused', (_, change, message) => {
    const problem = { ...SIZED, reduction: reduction('Sum', vi(0, 1)), ...change };
    expect(() => planMapReduce(problem as MapReduceProblem, CPU)).toThrow(message);
  });

  test('ways to sum that are the default give the same plan', () => {
    const problem = { ...SIZED, reduction: reduction('Min', vi(0, 1)) };
    const said = { ...problem, accumulate: 'float32', sumScheme: 'block' } as const;
    expect(planMapReduce(said, CPU)).toEqual(planMapReduce(problem, CPU));
    const double = { ...problem, dtype: 'float64' } as const;
    expect(planMapReduce({ ...double, accumulate: 'float64' }, H200)).toEqual(
      planMapReduce(double, H200),
    );
  });

  test('powers, which are many instructions, are written out for fewer rows at once', () => {
    const apart = ops.abs(ops.sub(vi(0, 8), vj(1, 8)));
    const unroll = (each: VectorExpr): number | undefined => {
      const one = plan(reduction('Sum', ops.sum(each)), H200);
      return 'unroll' in one ? one.unroll : undefined;
    };
    expect(unroll(ops.exp(apart))).toBe(4);
    expect(unroll(ops.powf(apart, 1.3))).toBe(2);
  });

  test('an input with two dims is refused', () => {
    expect(refusal(ops.add(vi(0, 1), vj(0, 1)))).toThrow(/input 0 stands in the formula with two/);
  });

  test('what is too long to be written out becomes loops', () => {
    const forms = (
      formula: VectorExpr,
      { kind = 'Sum', ...options }: ReductionOptions & { kind?: ReductionKind } = {},
    ) => [CPU, H200].map((limits) => 'form' in plan(reduction(kind, formula, options), limits));
    expect(forms(ops.sqDist(vi(0, 8), vj(1, 8)))).toEqual([false, false]);
    expect(forms(ops.sqDist(vi(0, 9), vj(1, 9)))).toEqual([true, false]);
    expect(forms(ops.sqDist(vi(0, 65), vj(1, 65)))).toEqual([true, true]);
    expect(forms(ops.mul(vi(0, 1), vj(1, 129)))).toEqual([true, true]);
    expect(forms(ops.tensorProd(vi(0, 64), vj(1, 64)))).toEqual([true, true]);
    expect(forms(vj(1, 3), { kind: 'KMin', k: 22 })).toEqual([true, true]);
  });
});
