import type { Expr } from './expr.js';
import { FormulaError } from './formula-error.js';
import { MATH } from './functions/math-ops.js';
import { applyRule, type RuleTable } from './rule-table.js';
import { postOrder } from './post-order.js';

/** IEEE 754 pow: unlike `Math.pow`, 1 to any power and -1 to an infinite power are 1. */
function powIeee(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
  return base ** exponent;
}

/** Float64 meaning of every operation; booleans are 1 and 0. */
export const FLOAT64: RuleTable<number> = {
  const: (_, node) => node.value,
  var: (_, node) => {
    throw new FormulaError(
      'UNBOUND_VARIABLE',
      `cannot evaluate: variable '${node.name}' has no value. Add '${node.name}' to the bindings.`,
    );
  },
  add: ([a, b]) => a + b,
  sub: ([a, b]) => a - b,
  mul: ([a, b]) => a * b,
  div: ([a, b]) => a / b,
  neg: ([x]) => -x,
  abs: ([x]) => Math.abs(x),
  sign: ([x]) => Math.sign(x),
  sqrt: ([x]) => Math.sqrt(x),
  rsqrt: ([x]) => (x === 0 ? 0 : 1 / Math.sqrt(x)),
  pow: ([base, exponent]) => powIeee(base, exponent),
  exp: ([x]) => Math.exp(x),
  log: ([x]) => Math.log(x),
  tanh: ([x]) => Math.tanh(x),
  min: ([a, b]) => Math.min(a, b),
  max: ([a, b]) => Math.max(a, b),
  lt: ([a, b]) => Number(a < b),
  le: ([a, b]) => Number(a <= b),
  gt: ([a, b]) => Number(a > b),
  ge: ([a, b]) => Number(a >= b),
  eq: ([a, b]) => Number(a === b),
  ne: ([a, b]) => Number(a !== b),
  select: ([condition, a, b]) => (condition === 0 ? b : a),
  call: (args, { fn, attributes }) => MATH[fn].evaluate(args, attributes),
};

/**
 * The value of `expr` in float64 with its variables bound to numbers; a comparison gives 1 or 0.
 *
 * Throws `FormulaError` with code `UNBOUND_VARIABLE` for a variable without a value.
 *
 * ```ts
 * import { abs, evaluate, pow, sub, variable } from '@mercer/formula';
 * const inner = pow(abs(sub(variable('a'), variable('b'))), 1.5);
 * console.log(evaluate(inner, { a: 1, b: 5 })); // 8
 * ```
 */
export function evaluate(expr: Expr, bindings: Readonly<Record<string, number>> = {}): number {
  const results = new Map<Expr, number>();
  for (const node of postOrder(expr)) {
    const bound =
      node.name !== undefined && Object.hasOwn(bindings, node.name)
        ? bindings[node.name]
        : undefined;
    const args = node.args.map((arg) => results.get(arg) as number);
    results.set(node, bound ?? applyRule(FLOAT64, node, args));
  }
  return results.get(expr) as number;
}
