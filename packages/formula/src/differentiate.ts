import { constant } from './build.js';
import { variable } from './constructors.js';
import { DERIVATIVE, type Derivative } from './derivative-rules.js';
import type { Expr, RealExpr } from './expr.js';
import { FormulaError } from './formula-error.js';
import { isExpr } from './intern-table.js';
import { postOrder } from './post-order.js';
import { simplify } from './simplify.js';

/**
 * The derivative of `expr` with respect to a variable, simplified. Comparisons and `sign` are
 * constant; at kinks the conventions of the constructors hold (`abs` and `sqrt` 0 at 0, `min` and
 * `max` the first argument's at a tie, `pow` 0 at base 0 where its derivative is not finite). Terms
 * that do not depend on the variable are left out, not multiplied by zero.
 *
 * Throws `FormulaError`: `INVALID_ARGUMENT` if the second argument is no variable or name,
 * `TYPE_MISMATCH` for a comparison.
 *
 * ```ts
 * import { abs, differentiate, mul, pow, print, sub, variable } from '@mercer/formula';
 * const d = sub(variable('a'), variable('b'));
 * console.log(print(differentiate(mul(d, d), 'a'))); // 2 * (a - b)
 * console.log(print(differentiate(pow(abs(d), 1.5), 'a'))); // 1.5 * (sign(a - b) * sqrt(abs(a - b)))
 * ```
 */
export function differentiate(expr: Expr, by: Expr | string): RealExpr {
  const target = typeof by === 'string' ? variable(by) : by;
  if (!isExpr(target) || target.name === undefined) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot differentiate: the second argument is not a variable. ` +
        `Pass a variable or its name; substitute a variable for a subexpression first.`,
    );
  }
  if (expr.type !== 'real') {
    throw new FormulaError(
      'TYPE_MISMATCH',
      `cannot differentiate: '${expr.op}' is a comparison. Differentiate a real expression.`,
    );
  }
  const results = new Map<Expr, Derivative>();
  for (const node of postOrder(expr)) {
    results.set(node, node === target ? constant(1) : derivativeOf(node, results));
  }
  return simplify(results.get(expr) ?? constant(0));
}

function derivativeOf(node: Expr, known: ReadonlyMap<Expr, Derivative>): Derivative {
  // One untyped step for the table: arity is checked when a node is built.
  const rule = DERIVATIVE[node.op] as unknown as (
    args: readonly Expr[],
    d: readonly Derivative[],
    node: Expr,
  ) => Derivative;
  return rule(
    node.args,
    node.args.map((arg) => known.get(arg)),
    node,
  );
}
