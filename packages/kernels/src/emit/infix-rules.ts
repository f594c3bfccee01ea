import type { RuleTable } from '@mercer/formula/plan';

const SYMBOLS = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
  eq: '==',
  ne: '!=',
} as const;

type Infix = Pick<RuleTable<string>, keyof typeof SYMBOLS>;

/** The rules of arithmetic and comparisons, which C++ writes between their operands. */
export const infixRules = (write: (a: string, symbol: string, b: string) => string): Infix =>
  Object.fromEntries(
    Object.entries(SYMBOLS).map(([op, symbol]) => [
      op,
      ([a, b]: readonly [string, string]) => write(a, symbol, b),
    ]),
  ) as unknown as Infix;

/** The same, as they stand. */
export const INFIX_RULES = infixRules((a, symbol, b) => `${a} ${symbol} ${b}`);
