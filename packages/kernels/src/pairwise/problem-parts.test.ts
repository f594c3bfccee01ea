import { abs, add, div, exp, mul, neg, pow, sub, variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import { textsOf } from '../testing/emitted-text.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { emitPairwise } from './emit.js';
import { normExpressions } from './norm-expressions.js';
import { planPairwise } from './plan.js';
import type { PairwisePlan } from './plan-types.js';
import type { PairwiseProblem } from './problem.js';
import { parameterisedProblems } from './default-parameterised.test-support.js';
import { plainCopy } from '../testing/plain-copy.test-support.js';

const CPU: DeviceLimits = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 4,
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
};
const DEVICES: readonly (readonly [string, DeviceLimits])[] = [
  ['CUDA', H200],
  ['CPU', CPU],
];
const [a, b, s, h] = [variable('a'), variable('b'), variable('s'), variable('h')];
const gaussian: Partial<PairwiseProblem> = {
  ...normExpressions(2, { skipEpilogue: true }),
  outer: exp(mul(s, neg(div(0.5, mul(h, h))))),
  parameters: ['h'],
};
const entries = (plan: PairwisePlan): string[] =>
  emitPairwise(plan).steps.map(({ kernel }) => kernel.entry);

describe.each(DEVICES)('plans with parameters on %s', (_, limits) => {
  const plan = (changes: Partial<PairwiseProblem>): PairwisePlan =>
    planPairwise(pairwiseProblem(changes), limits);

  test('keep what the problem has, and nothing where it has nothing', () => {
    const all = plan({ ...gaussian, symmetric: true, diagonal: 'add' });
    expect(all).toMatchObject({ parameters: ['h'], symmetric: true, diagonal: 'add' });
    expect(Object.isFrozen(all.parameters)).toBe(true);
    const nothing = plan({ parameters: [], symmetric: false });
    expect(nothing).toEqual(plan({}));
    expect(Object.keys(nothing)).toEqual(Object.keys(plan({})));
  });

  test('are plain data whose text comes from them alone', () => {
    for (const problem of parameterisedProblems()) {
      const chosen = planPairwise(problem, limits);
      const copy = plainCopy(chosen);
      expect(copy).toEqual(chosen);
      const texts = (from: PairwisePlan): string[] => textsOf(emitPairwise(from));
      expect(texts(copy)).toEqual(texts(chosen));
      for (const text of texts(chosen)) {
        expect(text).not.toMatch(/undefined|\[object|bandwidth|innerP|epsilon/);
      }
    }
  });

  test('add a pointer, a stride and a value for each parameter, before the workspace', () => {
    const names = (changes: Partial<PairwiseProblem>): string[] =>
      emitPairwise(plan(changes)).steps[0]?.kernel.params.map(({ name }) => name) ?? [];
    const own = names({}).filter((name) => name !== 'workspace');
    expect(names(gaussian).slice(0, own.length + 3)).toEqual([...own, 'hAt', 'hStride', 'hValue']);
    const two = { ...gaussian, outer: mul(variable('g'), exp(s)), parameters: ['h', 'g'] };
    expect(names(two).slice(own.length, own.length + 6)).toEqual([
      ...['hAt', 'hStride', 'hValue', 'gAt', 'gStride', 'gValue'],
    ]);
  });

  test('the text does not depend on how parameters are called', () => {
    const named = (name: string): string[] => {
      const outer = exp(mul(s, neg(div(1, variable(name)))));
      const problem = pairwiseProblem({ outer, parameters: [name] });
      return textsOf(emitPairwise(planPairwise(problem, limits)));
    };
    expect(named('while')).toEqual(named('bandwidth'));
    expect(named('parameter0')).toEqual(named('bandwidth'));
    expect(named('u0')).toEqual(named('bandwidth'));
  });

  test('the diagonal is a step of its own, after the others', () => {
    expect(entries(plan({ diagonal: 'set' })).at(-1)).toMatch(/diagonal$/);
    expect(entries(plan({ diagonal: 'set' }))).toHaveLength(entries(plan({})).length + 1);
    const { kernel } = emitPairwise(plan({ diagonal: 'add' })).steps.at(-1) ?? {};
    if (kernel === undefined) throw new Error('no kernel');
    const blocks = (m: number, n: number, batch: number, diagonalOffset: number): number => {
      const scalars = { m, n, batch, diagonalOffset };
      return kernel.dialect === 'cuda'
        ? kernel.geometry(scalars).grid[0]
        : kernel.geometry(scalars).tasks;
    };
    expect(blocks(10, 20, 1, 0)).toBe(1);
    expect(blocks(10, 20, 1, 19)).toBe(1);
    for (const offset of [20, 21, -10, -11, 2 ** 40, -(2 ** 40)]) {
      expect(blocks(10, 20, 1, offset)).toBe(0);
    }
    expect(blocks(0, 20, 1, 0)).toBe(0);
    expect(blocks(10, 20, 0, 0)).toBe(0);
    expect(blocks(1e6, 2e6, 3, -5)).toBeGreaterThan(100);
    expect(kernel.cost?.({ m: 10, n: 20, batch: 3, diagonalOffset: 15 })).toMatchObject({
      bytes: 3 * 5 * 4 * 2,
    });
  });

  test('a symmetric problem costs one operand and half of the pairs', () => {
    const cost = (symmetric: boolean) =>
      emitPairwise(plan({ symmetric })).steps[0]?.kernel.cost?.({
        m: 1000,
        n: 1000,
        k: 50,
        batch: 2,
        batchStrideA: 1,
        batchStrideB: 1,
      });
    const [half, whole] = [cost(true), cost(false)];
    expect((whole?.bytes ?? 0) - (half?.bytes ?? 0)).toBe(2 * 1000 * 50 * 4);
    expect((half?.flops ?? 0) / (whole?.flops ?? 1)).toBeCloseTo(1001 / 2000, 6);
  });

  test('a symmetric problem launches about half of the tiles', () => {
    const launched = (symmetric: boolean): number => {
      const { kernel } = emitPairwise(plan({ symmetric })).steps[0] ?? {};
      const scalars = { m: 30000, n: 30000, k: 1024, batch: 1 };
      if (kernel === undefined) throw new Error('no kernel');
      return kernel.dialect === 'cuda'
        ? kernel.geometry(scalars).grid[0]
        : kernel.geometry(scalars).tasks;
    };
    expect(launched(true) / launched(false)).toBeGreaterThan(0.5);
    expect(launched(true) / launched(false)).toBeLessThan(0.53);
  });
});

describe('sums that may be negative', () => {
  const products = { inner: mul(a, b), outer: pow(s, h), parameters: ['h'] };
  test.each(DEVICES)('are raised to a power as IEEE 754 does, on %s', (_, limits) => {
    const texts = (changes: Partial<PairwiseProblem>): string =>
      textsOf(emitPairwise(planPairwise(pairwiseProblem(changes), limits)))[0] ?? '';
    expect(texts(products)).toContain('pow_any(s,');
    expect(texts({ ...products, inner: abs(mul(a, b)) })).not.toContain('pow_any(s,');
  });
});

describe('on a GPU', () => {
  test('an exponent that may lie in memory chooses among the powers in the kernel', () => {
    const problem = { ...normExpressions('runtime'), parameters: ['p'] };
    const plan = planPairwise(pairwiseProblem({ ...problem, p: 1.3 }), H200);
    expect(plan.summary).toContain('either power');
    expect(plan.summary).toContain('parameters p');
  });

  test('powers by a parameter take tiles for long steps', () => {
    const inner = pow(abs(sub(a, b)), variable('q'));
    const plan = planPairwise(pairwiseProblem({ inner, parameters: ['q'] }), H200);
    const exponent = planPairwise(pairwiseProblem({ ...normExpressions('runtime'), p: 3.3 }), H200);
    if (plan.kind !== 'cuda' || exponent.kind !== 'cuda') throw new Error('wrong device');
    expect(plan).toMatchObject({ strategy: 'tile', tile: { tileRows: 32 } });
  });
});

describe('refusals', () => {
  const refused = (changes: Partial<PairwiseProblem>): string => {
    try {
      planPairwise(pairwiseProblem(changes), H200);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  test('a variable that is no parameter, and one of the wrong part', () => {
    expect(refused({ outer: mul(s, h) })).toContain('h is no variable of a pairwise problem');
    expect(refused({ outer: mul(s, a), parameters: ['h'] })).toContain('a is no variable');
    expect(refused({ inner: mul(a, s), parameters: ['h'] })).toContain('s is no variable');
  });

  test.each([
    ['a', 'is a variable of every pairwise problem'],
    ['s', 'is a variable of every pairwise problem'],
    ['x y', 'is no identifier'],
    ['', 'is no identifier'],
    ['1x', 'is no identifier'],
    ['h;', 'is no identifier'],
  ])("a parameter '%s'", (name, why) => {
    expect(refused({ parameters: [name] })).toContain(`parameter '${name}' ${why}`);
  });

  test('a parameter twice', () => {
    expect(refused({ parameters: ['h', 'h'] })).toContain("'h' is listed twice");
  });

  test('an inner expression that parameters keep from being 0 on padding', () => {
    const inner = mul(h, exp(mul(a, b)));
    expect(refused({ inner, parameters: ['h'] })).toContain('at a = b = 0');
    const cancels = sub(mul(a, h), sub(h, variable('g')));
    expect(refused({ inner: cancels, parameters: ['h', 'g'] })).toContain('at a = b = 0');
  });

  test('a symmetric problem of two operands', () => {
    expect(refused({ symmetric: true, n: 5 })).toContain('b must be a');
    expect(refused({ symmetric: true, layoutB: 'column' })).toContain('b must be a');
    expect(refused({ symmetric: true, alignedB: false })).toContain('b must be a');
  });

  test('a symmetric problem whose pairs have an order', () => {
    expect(refused({ symmetric: true, inner: sub(a, b) })).toContain('the other way round');
    expect(refused({ symmetric: true, inner: mul(a, add(a, b)) })).toContain('cannot plan as');
    expect(refused({ symmetric: true, inner: mul(a, b) })).toBe('');
  });
});
