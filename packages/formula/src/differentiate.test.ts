import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  abs,
  differentiate,
  div,
  eq,
  evaluate,
  exp,
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
  sqrt,
  sub,
  tanh,
  variable,
  type Expr,
  type RealExpr,
} from './index.js';
import { evaluateBounded } from './testing/bounded-evaluator.test-support.js';
import { complexStep } from './testing/complex-step.test-support.js';
import { NAMES, OpCounts, realExpr, smoothLeaf } from './testing/random-expr.test-support.js';

const [a, b, p, x] = ['a', 'b', 'p', 'x'].map(variable) as [RealExpr, RealExpr, RealExpr, RealExpr];
const d = sub(a, b);

const datum = fc.double({ min: -1, max: 4, noNaN: true });
const data = fc.record(Object.fromEntries(NAMES.map((name) => [name, datum])));
const anyDepth = fc.oneof(...[1, 2, 3].map((depth) => realExpr(depth, smoothLeaf)));

/** Compares the derivative table with the complex step; false where the point says nothing. */
function agrees(expr: Expr, derivative: Expr, point: Record<string, number>, by: string): boolean {
  const step = complexStep(expr, point, by);
  if (!step.clear || step.largest > 1e8) return false;
  const { error } = evaluateBounded(derivative, point);
  const got = evaluate(derivative, point);
  const tolerance = 64 * error + 1e-12 * (1 + step.largest);
  if (Math.abs(got - step.value) <= tolerance) return true;
  throw new Error(
    `d/d${by} ${print(expr)} = ${print(derivative)} at ${JSON.stringify(point)}: ` +
      `${got}, complex step ${step.value}`,
  );
}

describe('differentiate, on random expressions', () => {
  it('agrees with the complex step away from kinks', () => {
    const counts = new OpCounts();
    const outcomes = { compared: 0, skipped: 0, dependent: 0 };
    fc.assert(
      fc.property(anyDepth, data, fc.constantFrom(...NAMES), (expr, point, by) => {
        const derivative = differentiate(expr, by);
        if (!agrees(expr, derivative, point, by)) {
          outcomes.skipped++;
          return;
        }
        counts.add(expr);
        outcomes.compared++;
        if (evaluate(derivative, point) !== 0) outcomes.dependent++;
      }),
      { numRuns: 12_000, seed: 7 },
    );
    console.log(`first derivatives: ${JSON.stringify(outcomes)}`);
    expect(counts.report('differentiate')).toEqual([]);
    expect(outcomes.dependent).toBeGreaterThan(400);
  });

  it('agrees with the complex step for second derivatives', () => {
    const counts = new OpCounts();
    const outcomes = { compared: 0, skipped: 0, dependent: 0 };
    const names = fc.constantFrom(...NAMES);
    fc.assert(
      fc.property(anyDepth, data, names, names, (expr, point, first, second) => {
        const once = differentiate(expr, first);
        const twice = differentiate(once, second);
        if (!agrees(once, twice, point, second)) {
          outcomes.skipped++;
          return;
        }
        counts.add(expr);
        outcomes.compared++;
        if (evaluate(twice, point) !== 0) outcomes.dependent++;
      }),
      { numRuns: 12_000, seed: 7 },
    );
    console.log(`second derivatives: ${JSON.stringify(outcomes)}`);
    expect(counts.report('differentiate twice')).toEqual([]);
    expect(outcomes.dependent).toBeGreaterThan(50);
  });

  it.each([
    ['|d|^p', pow(abs(d), p)],
    ['d/p sqrt', div(sqrt(abs(d)), p)],
    ['exp(-d^2/p)', exp(neg(div(mul(d, d), p)))],
    ['log of a norm', log(max(abs(d), mul(p, p)))],
    ['rsqrt', rsqrt(mul(d, d))],
  ])('agrees with central differences of the evaluator: %s', (_, expr) => {
    const point = { a: 1.75, b: -0.5, p: 1.25 };
    for (const by of ['a', 'b', 'p'] as const) {
      const at = (h: number): number => evaluate(expr, { ...point, [by]: point[by] + h });
      const slope = (h: number): number => (at(h) - at(-h)) / (2 * h);
      // Two Richardson steps: error O(h^6).
      const [s1, s2, s4] = [slope(0.01), slope(0.02), slope(0.04)] as const;
      const wanted = (64 * s1 - 20 * s2 + s4) / 45;
      expect(evaluate(differentiate(expr, by), point)).toBeCloseTo(wanted, 8);
    }
  });
});

describe('differentiate, conventions where there is no derivative', () => {
  const at0 = (expr: RealExpr): number => evaluate(differentiate(expr, 'x'), { x: 0 });
  it.each([
    ['|x|', abs(x), 0],
    ['sign(x)', sign(x), 0],
    ['sqrt(x)', sqrt(x), 0],
    ['rsqrt(x)', rsqrt(x), 0],
    ['sqrt(x * x)', sqrt(mul(x, x)), 0],
    ['|x| ^ 0.5', pow(abs(x), 0.5), 0],
    ['|x| ^ 0.7', pow(abs(x), 0.7), 0],
    ['|x| ^ 1', pow(abs(x), 1), 0],
    ['|x| ^ 1.3', pow(abs(x), 1.3), 0],
    ['x ^ 1', pow(x, 1), 1],
    ['x ^ 0', pow(x, 0), 0],
    ['max(x, 0): the first', max(x, 0), 1],
    ['max(0, x): the first', max(0, x), 0],
    ['min(x, 0): the first', min(x, 0), 1],
    ['min(0, x): the first', min(0, x), 0],
    ['select(x < 0, 3 x, 5 x)', select(lt(x, 0), mul(3, x), mul(5, x)), 5],
    ['a pole stays a pole', div(1, x), -Infinity],
    ['tanh(x)', tanh(x), 1],
    ['tanh(|x|)', tanh(abs(x)), 0],
  ])('%s', (_, expr, wanted) => {
    expect(at0(expr) + 0).toBe(wanted);
  });

  it('gives 0 at a zero difference for every run-time p, and 1 for x ^ 1', () => {
    const byA = differentiate(pow(abs(d), p), 'a');
    for (const q of [0.3, 0.5, 1, 1.3, 2, 3]) {
      expect(evaluate(byA, { a: 2, b: 2, p: q }) + 0, `p = ${q}`).toBe(0);
      const twice = differentiate(byA, 'a');
      expect(evaluate(twice, { a: 2, b: 2, p: q }) + 0, `p = ${q}, twice`).toBe(0);
    }
    expect(evaluate(differentiate(pow(x, p), 'x'), { x: 0, p: 1 })).toBe(1);
    expect(evaluate(differentiate(pow(abs(d), p), 'p'), { a: 2, b: 2, p: 1.3 })).toBe(0);
  });

  // A zero difference contributes exactly 0 for every p > 0, and so does its change.
  it.each([0.1, 0.25, 0.5, 0.7, 0.75, 1, 1.2, 1.25, 1.5, 1.75, 1.9, 2, 2.25, 2.5, 3, 3.5, 4, 7.3])(
    '|d|^%f at a zero difference: every derivative is finite, the first is 0',
    (value) => {
      const point = { a: 2, b: 2, p: value };
      const power = pow(abs(d), value);
      // p in the text, in the text and simplified to products and roots, and at run time.
      for (const expr of [power, simplify(power), pow(abs(d), p)]) {
        for (const first of ['a', 'b', 'p'] as const) {
          const once = differentiate(expr, first);
          expect(evaluate(once, point) + 0, print(once)).toBe(0);
          for (const second of ['a', 'b', 'p'] as const) {
            const twice = differentiate(once, second);
            const slope = evaluate(twice, point);
            // Only |d|^2 = d^2 has a second derivative that is not 0 there.
            const smooth =
              value === 2 && expr !== pow(abs(d), p) && first !== 'p' && second !== 'p';
            const wanted = smooth ? (first === second ? 2 : -2) : 0;
            expect(slope + 0, print(twice)).toBe(wanted);
            expect(evaluate(differentiate(twice, 'a'), point), print(twice)).not.toBeNaN();
          }
        }
      }
    },
  );

  it.each([0.25, 0.5, 0.8, 1, 1.3, 2, 3.75])('the norm s^(1/p) at s = 0, p = %f', (value) => {
    const s = variable('s');
    for (const expr of [pow(s, div(1, p)), pow(s, 1 / value)]) {
      const bySum = differentiate(expr, s);
      expect(evaluate(bySum, { s: 0, p: value }), print(bySum)).toBe(value === 1 ? 1 : 0);
      for (const by of ['s', 'p'] as const) {
        expect(evaluate(differentiate(expr, by), { s: 0, p: value })).not.toBeNaN();
        expect(evaluate(differentiate(bySum, by), { s: 0, p: value })).not.toBeNaN();
      }
    }
  });

  it('leaves out terms that do not depend on the variable', () => {
    // 0 * inf would be NaN: the term must be absent, not multiplied by zero.
    const expr = mul(pow(b, -1), a);
    expect(print(differentiate(expr, 'a'))).toBe('1 / b');
    expect(evaluate(differentiate(mul(exp(b), 2), 'a'), { b: 1e9 })).toBe(0);
    const guarded = select(eq(b, 0), 0, div(a, b));
    expect(evaluate(differentiate(guarded, 'a'), { a: 1, b: 0 })).toBe(0);
  });

  it('knows second derivatives in closed form', () => {
    const square = mul(d, d);
    expect(print(differentiate(differentiate(square, 'a'), 'b'))).toBe('-2');
    const gauss = exp(neg(square));
    const second = differentiate(differentiate(gauss, 'a'), 'b');
    expect(evaluate(second, { a: 1, b: 1 })).toBe(2);
  });
});

describe('differentiate, misuse', () => {
  it.each([
    ['an expression', () => differentiate(x, mul(x, x)), 'INVALID_ARGUMENT'],
    ['a comparison', () => differentiate(lt(x, 0), 'x'), 'TYPE_MISMATCH'],
    ['a bad name', () => differentiate(x, '1x'), 'INVALID_NAME'],
  ])('refuses %s', (_, call, code) => {
    expect(call).toThrow(expect.objectContaining({ code }));
  });
});
