import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FormulaError,
  parseFormula,
  parseReduction,
  printFormula,
  printReduction,
} from '../../index.js';
import { OPERATIONS } from './operation-names.js';
import type { Parameter, ParameterKind } from './parameter-kind.js';

const ALIASES = ['x = Vi(3)', 'y = Vj(3)', 'b = Pm(1)', 'm = Vj(9)'];
const WORDS = [
  ...OPERATIONS.keys(),
  ...['x', 'y', 'b', 'm', 'x', 'y', 'b', 'Vi', 'Var', 'Ind', 'Index_i', 'inf', 'nan', 'unknown'],
  ...['Sum_Reduction', 'KMin_Reduction', 'Zero_Reduction'],
  ...[
    '+',
    '-',
    '*',
    '/',
    '**',
    '|',
    '<',
    '==',
    '=',
    ';',
    ',',
    ',',
    ',',
    '(',
    '(',
    ')',
    ')',
    '[',
    ']',
  ],
  ...['0', '1', '2', '3', '9', '0.5', '1e400', '00', '1_0', '.', '\n', '"', '\u00e9'],
];
const soup = fc.array(fc.constantFrom(...WORDS), { maxLength: 24 }).map((words) => words.join(' '));

const VALUES: {
  readonly [K in Exclude<ParameterKind, 'formula' | 'rest' | 'formulas'>]: readonly string[];
} = {
  input: ['x', 'y', 'b', 'm', 'Gather(y, 0)', '2'],
  inputs: ['x', '(x, y)', 'b'],
  int: ['0', '1', '2', '3', '9', '-1', '70'],
  number: ['0.5', '1.5', '-2', '70'],
  ints: ['[3]', '[3, 3]', 'Ind(1)', '[]', '[0]'],
};

/** Calls with arguments of the right kinds, though seldom of the right dims. */
const nested: fc.Arbitrary<string> = fc.letrec<{ text: string }>((tie) => {
  const argument = (parameter: Parameter): fc.Arbitrary<string> => {
    const kind = parameter.replace('?', '') as ParameterKind;
    return kind === 'formula' || kind === 'rest' || kind === 'formulas'
      ? tie('text')
      : fc.constantFrom(...VALUES[kind]);
  };
  return {
    text: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('x', 'y', 'b', 'm', '2', '-1', '0.5', 'Vi(0, 3)', 'Index_j'),
      fc
        .constantFrom(...OPERATIONS)
        .chain(([name, { parameters }]) =>
          fc.tuple(...parameters.map(argument)).map((args) => `${name}(${args.join(', ')})`),
        ),
      fc
        .tuple(tie('text'), fc.constantFrom('+', '-', '*', '/', '|', '**', '<'), tie('text'))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
    ),
  };
}).text;

function outcome(read: () => unknown): string {
  try {
    read();
    return 'read';
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    return error.code;
  }
}

describe('random text', () => {
  it.each([
    ['words in any order', soup, 4000],
    ['nested calls', nested, 4000],
    ['any characters', fc.string({ unit: 'binary', maxLength: 60 }), 2000],
  ] as const)('%s are read, or refused with an error of this package', (_, texts, numRuns) => {
    const counts = new Map<string, number>();
    fc.assert(
      fc.property(texts, (text) => {
        const code = outcome(() => {
          const formula = parseFormula(text, ALIASES, { limits: { maxSteps: 20_000 } });
          expect(parseFormula(printFormula(formula))).toBe(formula);
        });
        counts.set(code, (counts.get(code) ?? 0) + 1);
        outcome(() => {
          const reduction = parseReduction(text, ALIASES, { limits: { maxSteps: 20_000 } });
          expect(parseReduction(printReduction(reduction))).toEqual(reduction);
        });
      }),
      { numRuns, seed: 4 },
    );
    console.log(`${_}: ${JSON.stringify(Object.fromEntries(counts))}`);
    if (texts !== nested) expect(counts.get('SYNTAX')).toBeGreaterThan(1000);
    else {
      for (const code of ['read', 'DIM_MISMATCH', 'INVALID_ARGUMENT']) {
        expect(counts.get(code), code).toBeGreaterThan(50);
      }
    }
  });
});
