import type { Expr } from './expr.js';

/** What has arguments of its own kind. */
interface Node<N> {
  readonly args: readonly N[];
}

/** Every distinct node of `roots`, arguments before the nodes that use them; no recursion. */
export function orderNodes<N extends Node<N>>(...roots: readonly N[]): N[] {
  const seen = new Set<N>();
  return roots.flatMap((root) => newNodes(root, seen));
}

/** The nodes of `root` that are not yet `seen`, in the same order; they are seen then. */
export function newNodes<N extends Node<N>>(root: N, seen: Set<N>): N[] {
  if (seen.has(root)) return [];
  const order: N[] = [];
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
  return order;
}

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrder(...roots: readonly Expr[]): Expr[] {
  return orderNodes<Expr>(...roots);
}
