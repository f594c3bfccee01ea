import type { Expr } from './expr.js';
import { finish, type Steps } from './steps.js';

/** What has arguments of its own kind. */
interface Node<N> {
  readonly args: readonly N[];
}

/** Nodes that are looked at in one step. */
const NODES = 256;

/** Every distinct node of `roots`, arguments before the nodes that use them; no recursion. */
export function orderNodes<N extends Node<N>>(...roots: readonly N[]): N[] {
  return finish(orderSteps(roots));
}

/** `orderNodes` in steps. */
export function* orderSteps<N extends Node<N>>(roots: readonly N[]): Steps<N[]> {
  const seen = new Set<N>();
  const order: N[] = [];
  for (const root of roots) yield* addNewNodes(root, seen, order);
  return order;
}

/** Adds the nodes of `root` that are not yet `seen`, in the same order; they are seen then. */
export function* addNewNodes<N extends Node<N>>(root: N, seen: Set<N>, order: N[]): Steps<void> {
  if (seen.has(root)) return;
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
      if (order.length % NODES === 0) yield;
      continue;
    }
    nexts[last] = next + 1;
    if (seen.has(arg)) continue;
    seen.add(arg);
    nodes.push(arg);
    nexts.push(0);
  }
}

/** Every distinct node of `roots`, arguments before the nodes that use them. */
export function postOrder(...roots: readonly Expr[]): Expr[] {
  return orderNodes<Expr>(...roots);
}
