import { describeValue } from '@mercer/options';
import { constant } from '../build.js';
import type { Expr, Operand, RealExpr } from '../expr.js';
import { FormulaError } from '../formula-error.js';
import { intern, isExpr } from '../intern-table.js';
import { MATH, type MathArity, type MathOp, type NumberRange } from './math-ops.js';

/**
 * The function `fn` of its arguments, with its fixed numbers (an order, a number of decimals): `sin(x)`,
 * `atan2(y, x)`, the Bessel function of order 2. What every function means is what `evaluate` says.
 *
 * Throws `FormulaError`: `INVALID_ARGUMENT` for an unknown function, a fixed number out of range or a
 * foreign argument, `ARITY_MISMATCH`, `TYPE_MISMATCH` for a comparison.
 *
 * ```ts
 * import { call, differentiate, evaluate, print, variable } from '@mercer/formula';
 * const wave = call('sin', [variable('x')]);
 * console.log(print(differentiate(wave, 'x')), evaluate(wave, { x: 0 })); // cos(x) 0
 * console.log(print(call('besselJ', [variable('x')], [2]))); // besselJ(x, 2)
 * ```
 */
export function call(
  fn: MathOp,
  args: readonly Operand[],
  attributes: readonly number[] = [],
): RealExpr {
  checkName(fn, 'call');
  for (const list of [args, attributes] as readonly unknown[]) {
    if (Array.isArray(list)) continue;
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot call '${fn}': its arguments are ${describeValue(list)}. Pass arrays: call('besselJ', [x], [2]).`,
    );
  }
  const { args: arity, ranges } = MATH[fn];
  if (args.length !== arity || attributes.length !== ranges.length) {
    throw new FormulaError(
      'ARITY_MISMATCH',
      `cannot call '${fn}': it takes ${arity} argument(s) and ${ranges.length} number(s) ` +
        `and got ${args.length} and ${attributes.length}. Pass exactly those.`,
    );
  }
  ranges.forEach((range, n) => checkNumber(fn, range, attributes[n]));
  const nodes = args.map((arg, n) => argument(fn, n, arg));
  return intern('call', nodes, { fn, attributes: Object.freeze([...attributes]) }) as RealExpr;
}

/**
 * How many arguments and fixed numbers a function takes.
 *
 * ```ts
 * import { arityOf } from '@mercer/formula';
 * console.log(arityOf('atan2'), arityOf('polygamma')); // [ 2, 0 ] [ 1, 1 ]
 * ```
 */
export function arityOf<F extends MathOp>(fn: F): MathArity[F] {
  checkName(fn, 'tell the arity of');
  const { args, attributes } = MATH[fn];
  return [args, attributes] as MathArity[F];
}

function checkName(fn: unknown, task: string): void {
  if (typeof fn === 'string' && Object.hasOwn(MATH, fn)) return;
  const name = typeof fn === 'string' ? `'${fn}'` : describeValue(fn);
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `cannot ${task} ${name}: there is no function of that name. Use one of ${Object.keys(MATH).join(', ')}.`,
  );
}

/** Every function that {@link call} knows. */
export const FUNCTIONS: readonly MathOp[] = Object.freeze(Object.keys(MATH) as MathOp[]);

function checkNumber(fn: MathOp, { least, most, integer }: NumberRange, value: unknown): void {
  const fits = integer ? Number.isInteger(value) : typeof value === 'number';
  if (fits && (value as number) >= least && (value as number) <= most) return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `cannot call '${fn}': a fixed number is ${describeValue(value)} and must be ` +
      `${integer ? 'an integer' : 'a number'} from ${least} to ${most}. Pass such a number.`,
  );
}

function argument(fn: MathOp, index: number, value: Operand): Expr {
  const node: unknown = typeof value === 'number' ? constant(value) : value;
  if (isExpr(node) && node.type === 'real') return node;
  throw new FormulaError(
    isExpr(node) ? 'TYPE_MISMATCH' : 'INVALID_ARGUMENT',
    `cannot call '${fn}': argument ${index + 1} is ${isExpr(node) ? 'a comparison' : typeof value}. ` +
      `Pass a number or a real expression made by this copy of @mercer/formula.`,
  );
}
