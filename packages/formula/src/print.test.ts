import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  abs,
  add,
  constant,
  div,
  lt,
  max,
  mul,
  neg,
  pow,
  print,
  select,
  sub,
  variable,
} from './index.js';
import { parse } from './testing/parse.test-support.js';
import { OpCounts, realExpr } from './testing/random-expr.test-support.js';

const [a, b, c] = ['a', 'b', 'c'].map(variable) as [
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
];

describe('print', () => {
  it('is read back as the same node by an independent parser', () => {
    const counts = new OpCounts();
    fc.assert(
      fc.property(realExpr(4), (expr) => {
        counts.add(expr);
        expect(parse(print(expr))).toBe(expr);
      }),
      { numRuns: 3000, seed: 7 },
    );
    expect(counts.report('print')).toEqual([]);
  });

  it('has no parentheses that can be left out', () => {
    let removed = 0;
    fc.assert(
      fc.property(realExpr(3), (expr) => {
        for (const shorter of withoutOnePair(print(expr))) {
          removed++;
          expect(parsed(shorter), shorter).not.toBe(expr);
        }
      }),
      { numRuns: 500, seed: 7 },
    );
    console.log(`parentheses taken away: ${removed}`);
    expect(removed).toBeGreaterThan(50);
  });

  it.each([
    [mul(add(a, 1), b), '(a + 1) * b'],
    [add(a, mul(b, c)), 'a + b * c'],
    [sub(a, sub(b, c)), 'a - (b - c)'],
    [sub(sub(a, b), c), 'a - b - c'],
    [div(a, mul(b, c)), 'a / (b * c)'],
    [neg(pow(a, 2)), '-a ^ 2'],
    [pow(neg(a), 2), '(-a) ^ 2'],
    [pow(constant(-2), a), '(-2) ^ a'],
    [pow(a, pow(b, c)), 'a ^ b ^ c'],
    [pow(pow(a, b), c), '(a ^ b) ^ c'],
    [neg(add(a, b)), '-(a + b)'],
    [mul(a, -1.5), 'a * (-1.5)'],
    [abs(sub(a, b)), 'abs(a - b)'],
    [select(lt(a, b), max(a, 0), 1e-7), 'select(a < b, max(a, 0), 1e-7)'],
    [constant(-0), '-0'],
    [constant(-Infinity), '-inf'],
    [constant(NaN), 'nan'],
  ])('%#: %s', (expr, text) => {
    expect(print(expr)).toBe(text);
    expect(parse(text)).toBe(expr);
  });
});

/** Every text that lacks one matching pair of grouping parentheses, signs after operators apart. */
function withoutOnePair(text: string): string[] {
  const found: string[] = [];
  const open: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') open.push(i);
    if (text[i] !== ')') continue;
    const start = open.pop() ?? 0;
    const isCall = /\w/.test(text[start - 1] ?? ' ');
    // `a - (-b)` keeps its parentheses for the reader's sake.
    if (isCall || text[start + 1] === '-') continue;
    found.push(text.slice(0, start) + text.slice(start + 1, i) + text.slice(i + 1));
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
