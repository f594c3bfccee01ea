import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  build,
  evaluate,
  eq,
  lt,
  max,
  min,
  ne,
  pow,
  rsqrt,
  select,
  sign,
  variable,
  type ApplyOp,
} from './plan.js';

const x = variable('x');
const y = variable('y');
const any = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 1, -1, Infinity, -Infinity, NaN, 5e-324, Number.MAX_VALUE),
);

/** What each operation means, written down a second time. */
const MEANING: Readonly<Record<string, (a: number, b: number) => number | boolean>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => (a === 1 || (a === -1 && !Number.isFinite(b) && b === b) ? 1 : Math.pow(a, b)),
  min: (a, b) => (a !== a || b !== b ? NaN : a < b ? a : b),
  max: (a, b) => (a !== a || b !== b ? NaN : a > b ? a : b),
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  neg: (a) => -a,
  abs: (a) => (a < 0 ? -a : a),
  sign: (a) => (a !== a ? NaN : a > 0 ? 1 : a < 0 ? -1 : 0),
  sqrt: (a) => Math.sqrt(a),
  rsqrt: (a) => (a === 0 ? 0 : 1 / Math.sqrt(a)),
  exp: (a) => Math.exp(a),
  log: (a) => Math.log(a),
  tanh: (a) => Math.tanh(a),
};

describe('evaluate', () => {
  it.each(Object.keys(MEANING))('%s means what it says, for all float64', (op) => {
    const meaning = MEANING[op] as (a: number, b: number) => number | boolean;
    const expr = build(op as ApplyOp, meaning.length === 1 ? [x] : [x, y]);
    fc.assert(
      fc.property(any, any, (a, b) => {
        // Adding 0 takes the sign off a zero, which is not part of a formula's value.
        expect(evaluate(expr, { x: a, y: b }) + 0).toBe(Number(meaning(a, b)) + 0);
      }),
      { seed: 7 },
    );
  });

  it('keeps NaN through min and max, unlike fmin and fmax', () => {
    for (const op of [min, max]) {
      expect(evaluate(op(x, 1), { x: NaN })).toBeNaN();
      expect(evaluate(op(1, x), { x: NaN })).toBeNaN();
    }
    expect(evaluate(sign(x), { x: NaN })).toBeNaN();
  });

  it('compares as IEEE 754 does', () => {
    expect(evaluate(eq(x, x), { x: NaN })).toBe(0);
    expect(evaluate(ne(x, x), { x: NaN })).toBe(1);
    expect(evaluate(lt(x, y), { x: NaN, y: 1 })).toBe(0);
  });

  it('holds its conventions', () => {
    expect(evaluate(rsqrt(0))).toBe(0);
    expect(evaluate(pow(x, 0), { x: NaN })).toBe(1);
    expect(evaluate(pow(1, x), { x: NaN })).toBe(1);
    expect(evaluate(select(lt(x, 0), pow(x, 0.5), 7), { x: 1 })).toBe(7);
  });
});
