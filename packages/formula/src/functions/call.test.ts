import { describe, expect, it } from 'vitest';
import {
  add,
  arityOf,
  call,
  differentiate,
  evaluate,
  FormulaError,
  FUNCTIONS,
  isNonNegative,
  lt,
  neg,
  print,
  simplify,
  substitute,
  variable,
  type MathOp,
} from '../plan.js';

const x = variable('x');
/** Fixed numbers that every function accepts. */
const numbersOf = (fn: MathOp): number[] => Array.from({ length: arityOf(fn)[1] }, () => 1);
const argsOf = (fn: MathOp): (typeof x)[] =>
  [x, variable('y')].slice(0, (arityOf(fn) as readonly number[])[0]);

describe('call', () => {
  it('is one node for the same function, arguments and numbers', () => {
    for (const fn of FUNCTIONS) {
      const node = call(fn, argsOf(fn), numbersOf(fn));
      expect(call(fn, argsOf(fn), numbersOf(fn))).toBe(node);
      expect(node).toMatchObject({ op: 'call', type: 'real', fn, attributes: numbersOf(fn) });
    }
    expect(call('besselJ', [x], [1])).not.toBe(call('besselJ', [x], [2]));
    expect(call('sin', [x])).not.toBe(call('cos', [x]));
  });

  it('survives substitution, simplification and printing', () => {
    const node = call('polygamma', [add(x, 0)], [2]);
    expect(print(node)).toBe('polygamma(x + 0, 2)');
    expect(simplify(node)).toBe(call('polygamma', [x], [2]));
    expect(substitute(node, { x: 3 })).toBe(call('polygamma', [add(3, 0)], [2]));
    expect(simplify(call('floor', [2.5])).value).toBe(2);
  });

  it('has derivatives of every order that are finite inside the domain', () => {
    for (const fn of FUNCTIONS) {
      let slope = call(fn, argsOf(fn), numbersOf(fn));
      for (let order = 1; order <= 3; order++) {
        const [at, step] = [0.4, 1e-5];
        const value = (point: number): number => evaluate(slope, { x: point, y: 0.7 });
        const quotient = (value(at + step) - value(at - step)) / (2 * step);
        const next = differentiate(slope, x);
        const wanted = evaluate(next, { x: at, y: 0.7 });
        expect(Math.abs(wanted - quotient), `${fn}, order ${order}`).toBeLessThan(
          1e-6 * (1 + Math.abs(wanted) * 100),
        );
        slope = next;
      }
    }
  });

  it('knows what is never negative', () => {
    for (const fn of FUNCTIONS) {
      const node = call(fn, argsOf(fn), numbersOf(fn));
      for (const [given, points] of [
        [[], [-20, -3.3, -0.4, 0, 0.3, 0.99, 5]],
        [
          ['x', 'y'],
          [0, 0.3, 0.99, 5],
        ],
      ] as const) {
        if (!isNonNegative(node, given)) continue;
        for (const at of points) {
          for (const y of points) {
            expect(evaluate(node, { x: at, y }), `${fn}(${at}, ${y})`).not.toBeLessThan(0);
          }
        }
      }
    }
    expect(isNonNegative(call('cosh', [x]))).toBe(true);
    expect(isNonNegative(call('sinh', [x]))).toBe(false);
    expect(isNonNegative(call('sinh', [x]), ['x'])).toBe(true);
  });

  it('keeps softplus and its derivatives finite far out', () => {
    let slope = call('softplus', [x]);
    for (const wanted of [1, 0, 0]) {
      slope = differentiate(slope, x);
      expect(evaluate(slope, { x: 800 })).toBe(wanted);
      expect(evaluate(slope, { x: -800 })).toBe(0);
    }
  });

  it('refuses what it cannot call', () => {
    const errors = [
      [() => call('system' as MathOp, [x]), 'no function of that name'],
      [() => call('sin', []), 'takes 1 argument'],
      [() => call('atan2', [x]), 'takes 2 argument'],
      [() => call('sin', [x], [1]), '0 number(s)'],
      [() => call('polygamma', [x], [-1]), 'an integer from 0 to 64'],
      [() => call('besselJ', [x], [0.5]), 'an integer from -64 to 64'],
      [() => call('besselK', [x], [NaN]), 'a number from -64 to 64'],
      [() => call('sin', [lt(x, 1) as never]), 'a comparison'],
      [() => call('sin', [{} as never]), 'object'],
    ] as const;
    for (const [make, text] of errors) {
      expect(make).toThrow(FormulaError);
      expect(make).toThrow(text);
    }
    expect(evaluate(neg(call('sin', [x])), { x: 0 })).toBe(-0);
  });
});

describe('round', () => {
  it('takes halves away from zero, and nothing else', () => {
    const round = (at: number): number => evaluate(call('round', [x], [0]), { x: at });
    const below = 0.5 - 2 ** -54;
    expect([round(0.5), round(-0.5), round(below), round(-below)]).toEqual([1, -1, 0, -0]);
    expect(evaluate(call('round', [1.7e308], [2]))).toBe(1.7e308);
    expect([round(2 ** 52 + 1), round(2 ** 53 - 1)]).toEqual([2 ** 52 + 1, 2 ** 53 - 1]);
  });
});
