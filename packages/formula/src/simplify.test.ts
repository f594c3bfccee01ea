import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  abs,
  add,
  constant,
  differentiate,
  div,
  evaluate,
  exp,
  ge,
  gt,
  isNonNegative,
  log,
  lt,
  max,
  min,
  mul,
  neg,
  pow,
  print,
  rsqrt,
  select,
  sign,
  simplify,
  simplifyAll,
  sqrt,
  sub,
  tanh,
  variable,
  variables,
  variablesOfAll,
  type RealExpr,
} from './plan.js';
import { evaluateBounded } from './testing/bounded-evaluator.test-support.js';
import { NAMES, OpCounts, realExpr } from './testing/random-expr.test-support.js';

const x = variable('x');
const y = variable('y');
const d = sub(variable('a'), variable('b'));

const datum = fc.oneof(
  { weight: 6, arbitrary: fc.double({ min: -4, max: 4, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, -1, 2, Infinity, -Infinity, NaN, 1e-3, -300) },
);
const data = fc.record(Object.fromEntries(NAMES.map((name) => [name, datum])));

const anyDepth = fc.oneof(realExpr(2), realExpr(3), realExpr(4));

describe('simplify, on random expressions', () => {
  it('keeps the value, NaN and infinities included', () => {
    const counts = new OpCounts();
    const outcomes = { finite: 0, infinite: 0, nan: 0, skipped: 0, changed: 0 };
    fc.assert(
      fc.property(anyDepth, fc.array(data, { minLength: 4, maxLength: 4 }), (expr, points) => {
        counts.add(expr);
        const simple = simplify(expr);
        if (simple !== expr) outcomes.changed++;
        for (const point of points) {
          const wanted = evaluateBounded(expr, point);
          if (!wanted.trusted) {
            outcomes.skipped++;
            continue;
          }
          const got = evaluate(simple, point);
          const { value, error } = wanted;
          const kind = Number.isNaN(value) ? 'nan' : Number.isFinite(value) ? 'finite' : 'infinite';
          outcomes[kind]++;
          const close = Object.is(got + 0, value + 0) || Math.abs(got - value) <= 4 * error;
          if (!close) {
            const where = JSON.stringify(Object.entries(point).map(([k, v]) => `${k}=${v}`));
            throw new Error(`${print(expr)} -> ${print(simple)} at ${where}: ${value} -> ${got}`);
          }
        }
      }),
      { numRuns: 4000, seed: 7 },
    );
    console.log(`simplify outcomes: ${JSON.stringify(outcomes)}`);
    expect(counts.report('simplify')).toEqual([]);
    for (const [kind, count] of Object.entries(outcomes)) expect(count, kind).toBeGreaterThan(100);
    const { finite, infinite, nan, skipped } = outcomes;
    expect(finite + infinite + nan).toBeGreaterThan(skipped / 2);
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(realExpr(4), (expr) => {
        const once = simplify(expr);
        expect(simplify(once)).toBe(once);
      }),
      { numRuns: 3000, seed: 7 },
    );
  });

  it('does not depend on the order in which nodes were made', () => {
    const late = variable('later_made');
    expect(print(simplify(mul(y, mul(late, x))))).toBe(print(simplify(mul(mul(x, late), y))));
    expect(simplify(add(y, x))).toBe(simplify(add(x, y)));
    expect(simplify(abs(sub(y, x)))).toBe(simplify(abs(sub(x, y))));
  });
});

describe('simplify, products and roots that norms consist of', () => {
  /** Throws where a trusted value of `expr` is not kept; false where nothing could be compared. */
  const keeps = (expr: RealExpr, point: Record<string, number>): boolean => {
    const { value, error, trusted } = evaluateBounded(expr, point);
    if (!trusted) return false;
    const simple = simplify(expr);
    const got = evaluate(simple, point);
    if (Object.is(got + 0, value + 0) || Math.abs(got - value) <= 4 * error) return true;
    throw new Error(
      `${print(expr)} -> ${print(simple)} at ${JSON.stringify(point)}: ${value} -> ${got}`,
    );
  };
  // No tiny numbers: their products leave the range, and then nothing is compared.
  const eighths = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: -40, max: 40 }).map((i) => i / 8) },
    { weight: 1, arbitrary: fc.constantFrom(0, Infinity, -Infinity, NaN) },
  );
  const factor = fc.oneof(
    fc.constantFrom(x, abs(x), sqrt(abs(x)), sign(x), y, sign(y), abs(y), constant(3)),
    fc.constantFrom(mul(x, x), pow(abs(x), 0.75), pow(abs(x), 1.3), div(1, x), div(abs(x), y)),
  );
  const product = fc
    .tuple(fc.array(factor, { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([factors, fromLeft]) =>
      fromLeft
        ? factors.reduce((left, right) => mul(left, right))
        : factors.reduceRight((right, left) => mul(left, right)),
    );

  it('a sign taken up by a factor keeps the value', () => {
    let compared = 0;
    let shorter = 0;
    fc.assert(
      fc.property(product, eighths, eighths, fc.boolean(), (rest, atX, atY, first) => {
        const expr = first ? mul(sign(x), rest) : mul(rest, sign(x));
        if (!keeps(expr, { x: atX, y: atY })) return;
        compared++;
        if (!print(simplify(expr)).includes('sign(x)')) shorter++;
        expect(simplify(simplify(expr))).toBe(simplify(expr));
      }),
      { numRuns: 3000, seed: 7 },
    );
    console.log(`products with a sign: ${compared} compared, ${shorter} without it afterwards`);
    expect(compared).toBeGreaterThan(1000);
    expect(shorter).toBeGreaterThan(500);
  });

  it.each(Array.from({ length: 16 }, (_, i) => (2 * i + 1) / 4 - 4))('|x| ^ %f', (c) => {
    const power = pow(abs(x), c);
    expect(print(simplify(power))).not.toContain('^');
    let compared = 0;
    for (let i = -40; i <= 40; i++) if (keeps(power, { x: i / 7 })) compared++;
    expect(compared).toBeGreaterThan(79);
    for (const [at, wanted] of [
      [0, c > 0 ? 0 : Infinity],
      [-Infinity, c > 0 ? Infinity : 0],
      [NaN, NaN],
      [1, 1],
    ] as const) {
      expect(evaluate(simplify(power), { x: at })).toBe(wanted);
    }
  });
});

describe('simplify, rule by rule', () => {
  const cases: readonly (readonly [RealExpr, string])[] = [
    [add(x, 0), 'x'],
    [add(-0, x), 'x'],
    [sub(x, 0), 'x'],
    [sub(0, x), '-x'],
    [mul(x, 1), 'x'],
    [mul(-1, x), '-x'],
    [div(x, 1), 'x'],
    [div(x, 4), '0.25 * x'],
    [div(x, 3), 'x / 3'],
    [neg(neg(x)), 'x'],
    [neg(sub(x, y)), 'y - x'],
    [sub(x, neg(y)), 'x + y'],
    [add(x, neg(y)), 'x - y'],
    [add(x, -2), 'x - 2'],
    [mul(neg(x), neg(y)), 'x * y'],
    [add(x, x), '2 * x'],
    [add(mul(2, x), mul(x, 3)), '5 * x'],
    [mul(2, mul(x, 3)), '6 * x'],
    [abs(abs(x)), 'abs(x)'],
    [abs(neg(x)), 'abs(x)'],
    [abs(mul(-2, x)), 'abs(2 * x)'],
    [abs(mul(x, x)), 'x * x'],
    [abs(exp(x)), 'exp(x)'],
    [sqrt(mul(x, x)), 'abs(x)'],
    [mul(abs(x), abs(x)), 'x * x'],
    [mul(sign(x), x), 'abs(x)'],
    [mul(abs(x), sign(x)), 'x'],
    [mul(sqrt(abs(x)), sqrt(abs(x))), 'abs(x)'],
    [mul(sign(x), mul(x, x)), 'x * abs(x)'],
    [mul(mul(x, mul(x, abs(x))), sign(x)), 'x * (x * x)'],
    [mul(sign(x), mul(abs(x), y)), 'x * y'],
    [mul(sign(x), div(abs(x), y)), 'x / y'],
    [mul(sign(x), div(y, abs(x))), 'y / abs(x) * sign(x)'],
    [mul(sign(x), mul(y, sqrt(abs(x)))), 'y * sqrt(abs(x)) * sign(x)'],
    [tanh(neg(x)), '-tanh(x)'],
    [tanh(mul(-2, x)), '-tanh(2 * x)'],
    [tanh(mul(2, x)), 'tanh(2 * x)'],
    [tanh(neg(mul(2, x))), '-tanh(2 * x)'],
    [abs(tanh(abs(x))), 'tanh(abs(x))'],
    [abs(tanh(x)), 'abs(tanh(x))'],
    [tanh(constant(0)), '0'],
    [tanh(constant(-Infinity)), '-1'],
    [sign(sign(x)), 'sign(x)'],
    [pow(x, 0), '1'],
    [pow(x, 1), 'x'],
    [pow(x, 2), 'x * x'],
    [pow(x, -1), '1 / x'],
    [pow(abs(d), 2), '(a - b) * (a - b)'],
    [pow(abs(d), 3), '(a - b) * (a - b) * abs(a - b)'],
    [pow(abs(d), 0.5), 'sqrt(abs(a - b))'],
    [pow(abs(d), 1.5), 'abs(a - b) * sqrt(abs(a - b))'],
    [pow(abs(d), 1.3), 'abs(a - b) ^ 1.3'],
    [pow(abs(x), 0.25), 'sqrt(sqrt(abs(x)))'],
    [pow(abs(x), 0.75), 'sqrt(abs(x)) * sqrt(sqrt(abs(x)))'],
    [pow(abs(x), 1.25), 'abs(x) * sqrt(sqrt(abs(x)))'],
    [pow(abs(x), 3.75), 'x * x * abs(x) * sqrt(abs(x)) * sqrt(sqrt(abs(x)))'],
    [pow(abs(x), -0.25), '1 / sqrt(sqrt(abs(x)))'],
    [pow(abs(x), -2.75), '1 / (x * x * sqrt(abs(x)) * sqrt(sqrt(abs(x))))'],
    [pow(abs(x), 4.25), 'abs(x) ^ 4.25'],
    [pow(abs(x), 0.125), 'abs(x) ^ 0.125'],
    [pow(x, 0.25), 'x ^ 0.25'],
    [pow(sqrt(abs(x)), 0.5), 'sqrt(sqrt(abs(x)))'],
    [pow(sqrt(sqrt(abs(x))), 4), 'abs(x)'],
    [pow(pow(abs(x), 1.3), 2), 'abs(x) ^ 2.6'],
    [sqrt(pow(abs(x), 2.6)), 'abs(x) ^ 1.3'],
    [pow(1, x), '1'],
    [log(exp(x)), 'x'],
    [exp(log(abs(x))), 'abs(x)'],
    [log(div(1, x)), '-log(x)'],
    [max(x, x), 'x'],
    [max(x, -Infinity), 'x'],
    [min(Infinity, x), 'x'],
    [select(lt(1, 2), x, y), 'x'],
    [select(lt(x, x), x, y), 'y'],
    [select(lt(x, y), x, x), 'x'],
    [select(ge(x, 0), x, neg(x)), 'abs(x)'],
    [select(gt(0, x), neg(x), x), 'abs(x)'],
    [select(lt(x, y), select(lt(x, y), 1, 2), 3), 'select(x < y, 1, 3)'],
    [add(constant(2), constant(3)), '5'],
  ];
  it.each(cases.map(([expr, text]) => [print(expr), expr, text] as const))(
    '%s',
    (_, expr, text) => {
      expect(print(simplify(expr))).toBe(text);
    },
  );

  it.each([
    ['x * 0 is NaN for infinite x', mul(0, x)],
    ['x - x is NaN for infinite x', sub(x, x)],
    ['x / x is NaN for 0', div(x, x)],
    ['0 / x is NaN for 0', div(0, x)],
    ['sqrt(x) ^ 2 is NaN below 0', mul(sqrt(x), sqrt(x))],
    ['pow(x, 0.5) is inf for -inf, sqrt is NaN', pow(x, 0.5)],
    ['exp(log(x)) is NaN below 0', exp(log(x))],
    ['rsqrt(0) = 0 is not 1 / sqrt(0)', rsqrt(mul(x, x))],
    ['max(x, inf) is NaN for NaN', max(x, Infinity)],
    ['(x + 1) - 1 cancels', sub(add(x, 1), 1)],
    ['0 * (0 * x) may not swap with an overflow', mul(0, mul(0, x))],
    ['max keeps its order', max(y, x)],
  ])('keeps %s', (_, expr) => {
    expect(simplify(expr)).toBe(expr);
  });

  it('uses what the caller knows about variables', () => {
    const known = { nonNegative: ['s'] };
    const s = variable('s');
    expect(print(simplify(pow(s, 0.5), known))).toBe('sqrt(s)');
    expect(print(simplify(pow(s, 1 / 3), known))).toBe(print(pow(s, 1 / 3)));
    expect(print(simplify(abs(s), known))).toBe('s');
    expect(print(simplify(pow(s, 0.5)))).toBe('s ^ 0.5');
  });

  it('shortens derivatives of the norms', () => {
    const wrt = (p: number): string => print(differentiate(pow(abs(d), p), 'a'));
    expect(wrt(1)).toBe('sign(a - b)');
    expect(wrt(2)).toBe('2 * (a - b)');
    expect(wrt(3)).toMatchInlineSnapshot(`"3 * ((a - b) * abs(a - b))"`);
    expect(wrt(4)).toBe('4 * ((a - b) * ((a - b) * (a - b)))');
    expect(wrt(2.5)).toBe('2.5 * ((a - b) * sqrt(abs(a - b)))');
    expect(wrt(1.25)).toBe('1.25 * (sign(a - b) * sqrt(sqrt(abs(a - b))))');
    expect(wrt(1.3)).toMatchInlineSnapshot(
      `"1.3 * (sign(a - b) * abs(a - b) ^ 0.30000000000000004)"`,
    );
  });

  it('handles expressions deeper than the call stack', () => {
    let deep: RealExpr = x;
    for (let i = 0; i < 50_000; i++) deep = add(mul(deep, 0.5), 1);
    expect(evaluate(simplify(deep), { x: 3 })).toBeCloseTo(2, 12);
    expect(evaluate(differentiate(deep, 'x'), { x: 3 })).toBe(0);
  });
});

describe('isNonNegative', () => {
  it('is never wrong where it says yes', () => {
    let claims = 0;
    fc.assert(
      fc.property(anyDepth, data, (expr, point) => {
        const assumed = NAMES.filter((name) => (point[name] ?? 0) >= 0);
        // A pole reached through -0 has the sign of that zero: not a claim of the language.
        if (!isNonNegative(expr, assumed) || !evaluateBounded(expr, point).trusted) return;
        claims++;
        expect(evaluate(expr, point)).not.toBeLessThan(0);
      }),
      { numRuns: 3000, seed: 7 },
    );
    console.log(`claims of a sign: ${claims}`);
    expect(claims).toBeGreaterThan(100);
  });
});

describe('several expressions at once', () => {
  it('are simplified as one by one, and name their variables in order', () => {
    const some = fc.array(realExpr(4), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, (drawn) => {
        // the last one shares parts with all others
        const exprs = [...drawn, drawn.reduce((sum, one) => add(sum, one))];
        const known = { nonNegative: ['x'] };
        expect(simplifyAll(exprs, known)).toEqual(exprs.map((one) => simplify(one, known)));
        expect(variablesOfAll(exprs)).toEqual([...new Set(exprs.flatMap((one) => variables(one)))]);
      }),
      { numRuns: 200, seed: 11 },
    );
    expect([simplifyAll([]), variablesOfAll([])]).toEqual([[], []]);
    expect(variablesOfAll([add(y, y), mul(x, y), d])).toEqual(['y', 'x', 'a', 'b']);
  });
});
