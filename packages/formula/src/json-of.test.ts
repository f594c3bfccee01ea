import { describe, expect, it } from 'vitest';
import { add, call, constant, exp, mul, neg, variable } from './index.js';

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('an expression as JSON', () => {
  const [a, b] = [variable('a'), variable('b')];

  it('is the list of its nodes, the expression last', () => {
    expect(json(mul(exp(neg(a)), b))).toEqual(['a', ['neg', 0], ['exp', 1], 'b', ['mul', 2, 3]]);
    expect(json(constant(2.5))).toEqual([2.5]);
  });

  it('has every part once, however often it is shared', () => {
    let expr = add(a, b);
    for (let depth = 0; depth < 40; depth++) expr = mul(expr, exp(expr));
    expect(json(expr)).toHaveLength(3 + 2 * 40);
  });

  it('has the fixed numbers of functions, and numbers that JSON does not have', () => {
    expect(json(call('polygamma', [a], [2]))).toEqual(['a', ['call', 'polygamma', 2, 0]]);
    for (const value of [Infinity, -Infinity, NaN, -0]) {
      expect(json(constant(value))).toEqual([['const', Object.is(value, -0) ? '-0' : `${value}`]]);
    }
  });

  it('is told apart from others', () => {
    const all = [add(a, b), add(b, a), mul(a, b), add(a, 1), add(a, -0), add(a, 0), a, exp(a)];
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(new Set(all).size);
  });
});
