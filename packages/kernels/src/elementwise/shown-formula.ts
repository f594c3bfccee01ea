import { postOrder, print, type Expr } from '@mercer/formula';

/** Characters of the formula in a kernel's name. */
const LONGEST = 60;

/** Operations that are printed to be cut: printed, a part that is used again stands there again, and a chain of squares doubles each time. */
const MOST_PRINTED = 10_000;

/** The beginning of a formula, for the name of a kernel. */
export function shownFormula(expr: Expr): string {
  const nodes = postOrder(expr);
  const printed = new Map<Expr, number>();
  for (const node of nodes) {
    printed.set(
      node,
      node.args.reduce((sum, arg) => sum + (printed.get(arg) ?? 0), 1),
    );
  }
  if ((printed.get(expr) ?? 0) > MOST_PRINTED) return `${nodes.length} operations`;
  const text = print(expr);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
