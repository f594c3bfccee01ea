import { build, constant, type ApplyOp } from './build.js';
import type { CallNode, Expr, Operand, RealExpr } from './expr.js';
import { FormulaError } from './formula-error.js';
import { call } from './functions/call.js';
import { assertExpr, isExpr } from './intern-table.js';
import { postOrder } from './post-order.js';

const isCall = (node: Expr): node is CallNode => node.op === 'call';

/** The same node with other arguments; itself if nothing changed. */
export function withArgs(node: Expr, args: readonly Expr[]): Expr {
  if (args.every((arg, i) => arg === node.args[i])) return node;
  return isCall(node)
    ? call(node.fn, args as RealExpr[], node.attributes)
    : build(node.op as ApplyOp, args);
}

/**
 * `expr` with variables replaced, all at once (a replacement is not looked into again).
 *
 * Throws `FormulaError` with code `TYPE_MISMATCH` where a replacement is a comparison.
 *
 * ```ts
 * import { add, mul, print, substitute, variable } from '@mercer/formula';
 * const [x, y] = [variable('x'), variable('y')];
 * console.log(print(substitute(mul(x, y), { x: y, y: add(x, 1) }))); // y * (x + 1)
 * ```
 */
export function substitute<E extends Expr>(
  expr: E,
  replacements: Readonly<Record<string, Operand>>,
): E {
  assertExpr(expr, 'substitute');
  const results = new Map<Expr, Expr>();
  for (const node of postOrder(expr)) {
    const name = node.name;
    const replacement =
      name !== undefined && Object.hasOwn(replacements, name) ? replacements[name] : undefined;
    results.set(
      node,
      name !== undefined && replacement !== undefined
        ? checked(name, replacement)
        : withArgs(
            node,
            node.args.map((arg) => results.get(arg) as Expr),
          ),
    );
  }
  return results.get(expr) as E;
}

function checked(name: string, replacement: Operand): Expr {
  if (typeof replacement === 'number') return constant(replacement);
  const type: string = isExpr(replacement) ? replacement.type : typeof replacement;
  if (type !== 'real') {
    throw new FormulaError(
      'TYPE_MISMATCH',
      `cannot substitute '${name}': the replacement is ${type}, not real. ` +
        `Pass a number or a real expression.`,
    );
  }
  return replacement;
}
