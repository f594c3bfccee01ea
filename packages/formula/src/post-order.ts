import type { Expr } from './expr.js';

/** What has arguments of its own kind. */
interface Node<N> {
  readonly args: readonly N[];
}

/** Every distinct node of `roots`, arguments before the nodes that use them; no recursion. */
export function orderNodes<N extends Node<N>>(...roots: readonly N[]): N[] {
  const order: N[] = [];
  const seen = new Set<N>();
  for (const root of roots) {
    if (seen.has(root)) continue;
    seen.add(root);
    const stack: { node: N; next: number }[] = [{ node: root, next: 0 }];
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
  }
  return order;
}

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrder(...roots: readonly Expr[]): Expr[] {
  return orderNodes<Expr>(...roots);
}
