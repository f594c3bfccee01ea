import type { Expr } from './expr.js';

/** What has arguments of its own kind. */
interface Node<N> {
  readonly args: readonly N[];
}

/** Every distinct node of `roots`, arguments before the nodes that use them; no recursion. */
export function orderNodes<N extends Node<N>>(...roots: readonly N[]): N[] {
  const seen = new Set<N>();
  const [only] = roots;
  if (only !== undefined && roots.length === 1) return newNodes(only, seen);
  return roots.flatMap((root) => newNodes(root, seen));
}

/** The nodes of `root` that are not yet `seen`, in the same order; they are seen then. */
export function newNodes<N extends Node<N>>(root: N, seen: Set<N>): N[] {
  if (seen.has(root)) return [];
  const order: N[] = [];
  seen.add(root);
  // The nodes that are open, and of each which argument is next.
  const nodes: N[] = [root];
  const nexts: number[] = [0];
  for (let top: N | undefined = root; top !== undefined; top = nodes.at(-1)) {
    const last = nexts.length - 1;
    const next = nexts[last] ?? 0;
    const arg: N | undefined = top.args[next];
    if (arg === undefined) {
      order.push(top);
      nodes.pop();
      nexts.pop();
      continue;
    }
    nexts[last] = next + 1;
    if (seen.has(arg)) continue;
    seen.add(arg);
    nodes.push(arg);
    nexts.push(0);
  }
  return order;
}

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrder(...roots: readonly Expr[]): Expr[] {
  return orderNodes<Expr>(...roots);
}
