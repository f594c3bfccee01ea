import { describe, expect, it } from 'vitest';
import { FormulaError, parseFormula, parseReduction, printFormula } from '../../index.js';

const ALIASES = ['x = Vi(3)', 'y = Vj(3)', 'w = Vi(1000)'];

/** Texts that ask for too much, or for what is not theirs. */
const HOSTILE: readonly (readonly [string, string, string])[] = [
  ['a million brackets', '('.repeat(1e6), 'LIMIT_EXCEEDED'],
  ['nested brackets', '('.repeat(30_000) + 'x', 'LIMIT_EXCEEDED'],
  ['nested calls', 'Exp('.repeat(5000) + 'x' + ')'.repeat(5000), 'LIMIT_EXCEEDED'],
  ['many signs', '-'.repeat(30_000) + 'x', 'LIMIT_EXCEEDED'],
  ['many powers', 'x' + '**x'.repeat(20_000), 'LIMIT_EXCEEDED'],
  ['nested lists', `Kron(x, y, ${'['.repeat(1000)}`, 'SYNTAX'],
  ['a long name', 'a'.repeat(60_000), 'SYNTAX'],
  ['a wide vector', 'SumT(1, 1000000000)', 'INVALID_ARGUMENT'],
  ['a product of wide vectors', 'TensorProd(SumT(1, 10000), SumT(1, 10000))', 'INVALID_ARGUMENT'],
  [
    'a large contraction',
    'Sum(TensorDot(SumT(1, 4000000), SumT(1, 4000000), [2000, 2000], [2000, 2000], [1], [0]))',
    'LIMIT_EXCEEDED',
  ],
  [
    'many wide vectors',
    Array.from({ length: 9 }, (_, k) => `Sum(SumT(${k}, 16000000))`).join('+'),
    'LIMIT_EXCEEDED',
  ],
  ['a Hessian of a Hessian', 'GradMatrix(GradMatrix(Sin(w), w), w)', 'LIMIT_EXCEEDED'],
  ['a long warping', 'SoftDTW_SqDist(w, w, 1)', 'LIMIT_EXCEEDED'],
  [
    'Laplacians of Laplacians',
    nested('Laplacian(', ', x)', 12, 'Exp(Sin(x) | Cos(x * y))'),
    'LIMIT_EXCEEDED',
  ],
  [
    'gradients of gradients',
    nested('Sum(Grad(', ', x, 1))', 30, 'Exp(Sin(x) | x ** 2.5)'),
    'LIMIT_EXCEEDED',
  ],
  ['a position that is too large', 'Vi(99999999999999999999, 3)', 'SYNTAX'],
  ['a position above the limit', 'Vi(5000, 3)', 'INVALID_ARGUMENT'],
  ['a prototype', '__proto__', 'SYNTAX'],
  ['a constructor', 'constructor(x)', 'SYNTAX'],
  ['a method of objects', 'toString(x)', 'SYNTAX'],
  ['a method of tables', 'hasOwnProperty', 'SYNTAX'],
  ['source text', 'Exp(x); asm("trap")', 'SYNTAX'],
  ['a comment', 'x /* y */', 'SYNTAX'],
  ['a line of a compiler', '#include "x"', 'SYNTAX'],
  ['a quote', "'x'", 'SYNTAX'],
  ['a template', '${x}', 'SYNTAX'],
  ['another alphabet', 'х + у', 'SYNTAX'],
  ['a character of two parts', 'x + \u{1F600}', 'SYNTAX'],
  ['an invisible character', 'x\u200b + y', 'SYNTAX'],
  ['a zero character', 'x\0', 'SYNTAX'],
  ['a broken character', 'x \ud800', 'SYNTAX'],
];

function nested(before: string, after: string, times: number, inner: string): string {
  return before.repeat(times) + inner + after.repeat(times);
}

describe('hostile text', () => {
  it.each(HOSTILE)('%s is refused soon, with a short message', (_, text, code) => {
    const started = performance.now();
    let error: unknown;
    try {
      parseFormula(text, ALIASES);
    } catch (caught) {
      error = caught;
    }
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(error).toBeInstanceOf(FormulaError);
    expect((error as FormulaError).code).toBe(code);
    expect((error as FormulaError).message.length).toBeLessThan(400);
  });

  it('is refused as a reduction too', () => {
    for (const [, text] of HOSTILE) {
      expect(() => parseReduction(`Sum_Reduction(${text}, 0)`, ALIASES)).toThrow(FormulaError);
    }
  });

  it('is refused where it is no text', () => {
    for (const value of [null, undefined, 3, {}, ['x']]) {
      expect(() => parseFormula(value as never)).toThrow(/not text. Pass a string/);
    }
  });

  it('takes no more than linear time and text where parts are shared', () => {
    const doubling = Array.from({ length: 200 }, (_, k) => `d${k + 1} = d${k} * Sin(d${k});`).join(
      ' ',
    );
    const formula = parseFormula(`d0 = x; ${doubling} d200`, ALIASES);
    const text = printFormula(formula);
    expect(text.length).toBeLessThan(20_000);
    expect(parseFormula(text)).toBe(formula);
  });

  it('is walked without nesting calls, however long its chains are', () => {
    const chain = (term: string, operator: string, count: number): string =>
      Array.from({ length: count }, () => term).join(operator);
    for (const [term, operator] of [
      ['x*y', '*'],
      ['Sin(x*y)', '-'],
      ['x', '/'],
    ] as const) {
      const text = `Grad(Elem(${chain(term, operator, 6000)}, 0), x, 1)`;
      const read = (): unknown => parseFormula(text, ALIASES, { limits: { maxSteps: 1e6 } });
      try {
        expect(printFormula(read() as ReturnType<typeof parseFormula>)).toMatch(/./);
      } catch (error) {
        expect(error).toBeInstanceOf(FormulaError);
      }
    }
  });

  it('holds limits that the caller sets', () => {
    const small = { maxLength: 10, maxDepth: 2, maxSteps: 4, maxUnrolledSize: 5 };
    const tried = (text: string, limit: keyof typeof small): (() => unknown) => {
      return () => parseFormula(text, ALIASES, { limits: { [limit]: small[limit] } });
    };
    expect(tried('x + x + x + x', 'maxLength')).toThrow(
      /length 13 and the limit 'maxLength' is 10/,
    );
    expect(tried('(((x)))', 'maxDepth')).toThrow(/depth 3 and the limit 'maxDepth' is 2/);
    expect(tried('x+y+x+y+x+y', 'maxSteps')).toThrow(/'maxSteps'/);
    expect(tried('x + y', 'maxUnrolledSize')).toThrow(
      /unrolled size 9 and the limit 'maxUnrolledSize' is 5/,
    );
    expect(tried('x', 'maxUnrolledSize')()).toBe(parseFormula('x', ALIASES));
  });

  it('a limit does not outlive the text that it was for', () => {
    expect(() => parseFormula('GradMatrix(GradMatrix(Sin(w), w), w)', ALIASES)).toThrow();
    expect(parseFormula('x + y', ALIASES).dim).toBe(3);
  });
});
