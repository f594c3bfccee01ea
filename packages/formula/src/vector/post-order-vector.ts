import type { VectorExpr } from './vector-expr.js';

/** Every distinct node of `roots`, arguments before the nodes that use them; no recursion. */
export function postOrderVector(...roots: readonly VectorExpr[]): VectorExpr[] {
  const order: VectorExpr[] = [];
  const seen = new Set<VectorExpr>();
  for (const root of roots) {
    if (seen.has(root)) continue;
    seen.add(root);
    const stack: { node: VectorExpr; next: number }[] = [{ node: root, next: 0 }];
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

/** The inputs of a formula, gathered ones included, sorted by position. */
export function inputsOf(
  ...roots: readonly VectorExpr[]
): Extract<VectorExpr, { kind: 'variable' }>[] {
  const found = new Set(
    postOrderVector(...roots).flatMap((node) =>
      node.kind === 'variable' ? [node] : node.kind === 'gather' ? [node.table] : [],
    ),
  );
  return [...found].sort((a, b) => a.position - b.position || a.id - b.id);
}
