import { mul, sub, variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { planPairwise } from '../pairwise/plan.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import {
  chooseProducts,
  predictProducts,
  predictReductionByProducts,
  productsConfig,
} from './choose-products.js';

const distances = (changes: Parameters<typeof pairwiseProblem>[0] = {}) =>
  pairwiseProblem({ ...normExpressions(2), ...changes });

describe('squared distances go through products', () => {
  test.each([
    ['many pairs of long rows', {}, true],
    ['10000 x 10000 x 256', { m: 10000, n: 10000, k: 256 }, true],
    ['without the root', normExpressions(2, { skipEpilogue: true }), true],
    ['few features', { k: 64 }, false],
    ['few pairs', { m: 100, n: 100 }, false],
    ['few rows', { m: 8 }, false],
    ['float64', { dtype: 'float64' }, false],
    ['another norm', normExpressions(1), false],
    ['products themselves', { inner: mul(variable('a'), variable('b')) }, false],
    ['a maximum', { reduce: 'max' }, false],
    ['a symmetric result, which must be so exactly', { symmetric: true }, false],
    ['a batch', { batch: 2 }, false],
    ['columns that are contiguous', { layoutB: 'column' }, false],
  ] as const)('%s: %s', (_, changes, chosen) => {
    expect(chooseProducts(distances(changes), H200) !== undefined).toBe(chosen);
  });

  test('in either order of the difference', () => {
    const turned = sub(variable('b'), variable('a'));
    expect(chooseProducts(distances({ inner: mul(turned, turned) }), H200)).toBeDefined();
  });

  test('where tensor cores outrun the float32 units', () => {
    const of = (computeCapability: readonly [number, number]) =>
      chooseProducts(distances(), { ...H200, computeCapability });
    expect(of([8, 0])).toBeDefined();
    for (const other of [
      [8, 6],
      [8, 9],
      [12, 0],
    ] as const)
      expect(of(other)).toBeUndefined();
    const cpu = { kind: 'cpu', level: 'x86-64-v3', cores: 2, l1Bytes: 1, l2Bytes: 1 } as const;
    expect(chooseProducts(distances(), cpu)).toBeUndefined();
  });

  test('in reductions where the values that are read again leave a gain', () => {
    const of = (k: number) => predictReductionByProducts({ m: 1e4, n: 1e4, k, batch: 1 }, H200);
    expect([64, 128, 256, 512, 1000].map(of)).toEqual([false, false, true, true, true]);
  });

  test('in the time that an H200 was seen to take, roughly', () => {
    // measured: 21 ms and 71.6 ms (docs/lab/inner-products-in-two-phases.md)
    const seconds = predictProducts({ m: 30000, n: 30000, k: 1024, batch: 1 }, H200);
    expect(seconds?.products).toBeGreaterThan(0.015);
    expect(seconds?.products).toBeLessThan(0.027);
    expect(seconds?.direct).toBeCloseTo(0.0716, 2);
  });
});

describe('the chunks of a sum', () => {
  test.each([
    [32, 32, 1],
    [256, 256, 1],
    [257, 136, 2],
    [1000, 256, 4],
    [1024, 256, 4],
    [5000, 256, 20],
  ])('over %d features have %d steps, %d of them', (k, chunk, chunks) => {
    expect(productsConfig(k)).toMatchObject({ chunk, chunks });
    expect(chunk * chunks).toBeGreaterThanOrEqual(k);
  });

  test('leave a share of the published bound, so that more is computed again where it is tight', () => {
    const closeness = [64, 256, 1024, 4096].map((k) => productsConfig(k).closeness);
    for (const one of closeness) expect(one).toBeGreaterThan(0.1);
    for (const one of closeness) expect(one).toBeLessThan(0.7);
    expect(productsConfig(4096).closeness).toBeLessThan(productsConfig(1024).closeness);
  });
});

test('the plan says so in its line', () => {
  const plan = planPairwise(distances({ products: productsConfig(1024) }), H200);
  expect(plan.summary).toMatchInlineSnapshot(
    `"pairwise sum of (a - b) * (a - b), float32, products on tensor cores (4 chunks of 256, pairs nearer than 0.37 of their norms by differences), row x row"`,
  );
  expect(Object.isFrozen(plan)).toBe(true);
});
