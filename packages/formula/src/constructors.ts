import { describeList } from '@mercer/options';
import { build } from './build.js';
import type { BoolExpr, Operand, RealExpr } from './expr.js';
import { FormulaError } from './formula-error.js';
import { intern } from './intern-table.js';
import { OPS } from './op.js';

const RESERVED: ReadonlySet<string> = new Set<string>([...OPS, 'inf', 'nan']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

type Two = [a: Operand, b: Operand];

/**
 * The variable `name`: letters, digits and underscores, at most 64, not starting with a digit and
 * not an operation's name, `inf` or `nan`. Throws `FormulaError` with code `INVALID_NAME`.
 */
export function variable(name: string): RealExpr {
  if (typeof name !== 'string' || !NAME.test(name) || RESERVED.has(name)) {
    throw new FormulaError(
      'INVALID_NAME',
      `cannot build a variable: ${describeList(name)} is not a free name. ` +
        `Use letters, digits and underscores (at most 64, no leading digit) and none of ` +
        `${[...RESERVED].join(', ')}.`,
    );
  }
  return intern('var', [], { name }) as RealExpr;
}

/** `a + b` */
export const add = (...args: Two): RealExpr => build('add', args);
/** `a - b` */
export const sub = (...args: Two): RealExpr => build('sub', args);
/** `a * b` */
export const mul = (...args: Two): RealExpr => build('mul', args);
/** `a / b` */
export const div = (...args: Two): RealExpr => build('div', args);
/** `-x`; of a constant, the constant with the other sign. */
export const neg = (...args: [x: Operand]): RealExpr => build('neg', args);
/** `|x|`; its derivative is `sign(x)`, so 0 at 0 by convention. */
export const abs = (...args: [x: Operand]): RealExpr => build('abs', args);
/** -1, 0 or 1; 0 at 0, NaN of NaN; its derivative is 0 everywhere. */
export const sign = (...args: [x: Operand]): RealExpr => build('sign', args);
/** Square root; NaN below 0; its derivative at 0 is 0 by convention. */
export const sqrt = (...args: [x: Operand]): RealExpr => build('sqrt', args);
/** `1 / sqrt(x)`, and 0 at 0 by convention, so that the gradient of a norm at 0 is 0. */
export const rsqrt = (...args: [x: Operand]): RealExpr => build('rsqrt', args);
/** `base ^ exponent` as IEEE 754 defines pow: `pow(x, 0) = 1` and `pow(1, y) = 1` for all x, y. */
export const pow = (...args: [base: Operand, exponent: Operand]): RealExpr => build('pow', args);
/** `e ^ x` */
export const exp = (...args: [x: Operand]): RealExpr => build('exp', args);
/** Natural logarithm; -inf at 0, NaN below. */
export const log = (...args: [x: Operand]): RealExpr => build('log', args);
/** Hyperbolic tangent, in [-1, 1]. */
export const tanh = (...args: [x: Operand]): RealExpr => build('tanh', args);
/** The smaller argument; NaN if either is NaN. At a tie the derivative is the first argument's. */
export const min = (...args: Two): RealExpr => build('min', args);
/** The larger argument; NaN if either is NaN. At a tie the derivative is the first argument's. */
export const max = (...args: Two): RealExpr => build('max', args);
/** `a < b`; false if either is NaN. */
export const lt = (...args: Two): BoolExpr => build('lt', args);
/** `a <= b`; false if either is NaN. */
export const le = (...args: Two): BoolExpr => build('le', args);
/** `a > b`; false if either is NaN. */
export const gt = (...args: Two): BoolExpr => build('gt', args);
/** `a >= b`; false if either is NaN. */
export const ge = (...args: Two): BoolExpr => build('ge', args);
/** `a == b`; false if either is NaN. */
export const eq = (...args: Two): BoolExpr => build('eq', args);
/** `a != b`; true if either is NaN. */
export const ne = (...args: Two): BoolExpr => build('ne', args);
/** `a` where `condition` holds, else `b`; the other branch's value, NaN or not, is not seen. */
export const select = (...args: [condition: BoolExpr, a: Operand, b: Operand]): RealExpr =>
  build('select', args);
