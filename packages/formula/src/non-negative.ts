import type { Expr } from './expr.js';
import { FUNCTION_SIGNS } from './functions/signs.js';
import type { RuleTable } from './rule-table.js';

const both = ([a, b]: readonly [boolean, boolean]): boolean => a && b;
const either = ([a, b]: readonly [boolean, boolean]): boolean => a || b;
const always = (): boolean => true;
const unknown = (): boolean => false;

/** Rules that decide whether an expression is >= 0 or NaN wherever it is evaluated. */
export const NON_NEGATIVE: RuleTable<boolean> = {
  const: (_, { value }) => !(value < 0),
  var: unknown,
  add: both,
  sub: unknown,
  // A square is non-negative whatever its factor is.
  mul: ([a, b], { args }) => (a && b) || (args[0] as Expr) === args[1],
  div: both,
  neg: unknown,
  abs: always,
  sign: ([x]) => x,
  sqrt: always,
  rsqrt: always,
  pow: ([base], { args }) => base || isEven(args[1].value),
  exp: always,
  log: unknown,
  tanh: ([x]) => x,
  min: both,
  max: either,
  lt: always,
  le: always,
  gt: always,
  ge: always,
  eq: always,
  ne: always,
  select: ([, a, b]) => a && b,
  call: ([x = false], { fn }) =>
    FUNCTION_SIGNS[fn] === 'always' || (FUNCTION_SIGNS[fn] === 'kept' && x),
};

function isEven(exponent: number | undefined): boolean {
  return exponent !== undefined && exponent % 2 === 0;
}
