import { assertExpr } from './intern-table.js';
import type { Expr } from './expr.js';
import { fold, type RuleTable } from './rule-table.js';

/** Text and how tightly its outermost operator binds. */
interface Printed {
  readonly text: string;
  readonly level: number;
}

const COMPARE = 0;
const SUM = 1;
const PRODUCT = 2;
const SIGN = 3;
const POWER = 4;
const ATOM = 5;

const at = (level: number, text: string): Printed => ({ text, level });
const wrap = (inner: Printed, least: number): string =>
  inner.level >= least ? inner.text : `(${inner.text})`;
// A sign right after an operator is legal but hard to read: it gets parentheses.
const right = (inner: Printed, least: number): string =>
  inner.level === SIGN ? `(${inner.text})` : wrap(inner, least);

const infix =
  (symbol: string, level: number, leftLeast = level) =>
  ([a, b]: readonly [Printed, Printed]): Printed =>
    at(level, `${wrap(a, leftLeast)} ${symbol} ${right(b, level + 1)}`);

const call =
  (name: string) =>
  (args: readonly Printed[]): Printed =>
    at(ATOM, `${name}(${args.map((arg) => arg.text).join(', ')})`);

const TEXT: RuleTable<Printed> = {
  const: (_, { value }) => at(value < 0 || Object.is(value, -0) ? SIGN : ATOM, numberText(value)),
  var: (_, { name }) => at(ATOM, name),
  add: infix('+', SUM),
  sub: infix('-', SUM),
  mul: infix('*', PRODUCT),
  div: infix('/', PRODUCT),
  neg: ([x]) => at(SIGN, `-${right(x, POWER)}`),
  abs: call('abs'),
  sign: call('sign'),
  sqrt: call('sqrt'),
  rsqrt: call('rsqrt'),
  // Right-associative: a ^ b ^ c is a ^ (b ^ c).
  pow: ([base, exponent]) => at(POWER, `${wrap(base, ATOM)} ^ ${right(exponent, POWER)}`),
  exp: call('exp'),
  log: call('log'),
  tanh: call('tanh'),
  min: call('min'),
  max: call('max'),
  lt: infix('<', COMPARE, SUM),
  le: infix('<=', COMPARE, SUM),
  gt: infix('>', COMPARE, SUM),
  ge: infix('>=', COMPARE, SUM),
  eq: infix('==', COMPARE, SUM),
  ne: infix('!=', COMPARE, SUM),
  select: call('select'),
  call: (args, { fn, attributes }) =>
    call(fn)([...args, ...attributes.map((value) => at(ATOM, numberText(value)))]),
};

function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  if (Number.isNaN(value)) return 'nan';
  return String(value).replace('Infinity', 'inf');
}

/**
 * Readable text with only the parentheses that precedence asks for. From loose to tight:
 * comparisons, `+ -`, `* /`, unary minus, `^` (right-associative); everything else is a call.
 * Numbers print in their shortest exact form, so reading the text back gives the same expression.
 *
 * ```ts
 * import { add, mul, neg, pow, print, variable } from '@mercer/formula';
 * const x = variable('x');
 * console.log(print(mul(add(x, 1), neg(pow(x, 2))))); // (x + 1) * (-x ^ 2)
 * ```
 */
export function print(expr: Expr): string {
  assertExpr(expr, 'print');
  return fold(TEXT, expr).text;
}
