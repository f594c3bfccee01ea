import type { Expr } from './expr.js';

/** Every distinct node of `root`, arguments before the nodes that use them; no recursion. */
export function postOrder(root: Expr): Expr[] {
  const order: Expr[] = [];
  const seen = new Set<Expr>();
  const stack: { node: Expr; next: number }[] = [{ node: root, next: 0 }];
  seen.add(root);
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const arg = top.node.args[top.next++];
    if (arg === undefined) {
      order.push(top.node);
      stack.pop();
    } else if (!seen.has(arg)) {
      seen.add(arg);
      stack.push({ node: arg, next: 0 });
    }
  }
  return order;
}
