import {
  add,
  orderSteps,
  visitSteps,
  withArgs,
  type Expr,
  type RealExpr,
  type Steps,
} from '@mercer/formula/plan';

/** Terms of a block, as many as of a tile of reduced rows. */
const BLOCK = 256;

/**
 * In steps, the expressions with sums of very many terms added up in blocks, whose rounding grows like the length of a block and their
 * number. The same nodes where there are none.
 */
export function* blockedSums(roots: readonly RealExpr[]): Steps<readonly RealExpr[]> {
  const order = yield* orderSteps<Expr>(roots);
  const uses = new Map<Expr, number>();
  const count = (node: Expr): void => {
    uses.set(node, (uses.get(node) ?? 0) + 1);
  };
  yield* visitSteps(order, ({ args }) => {
    args.forEach(count);
  });
  roots.forEach(count);
  const goesOn = (node: Expr | undefined): node is Expr =>
    node?.op === 'add' && uses.get(node) === 1;
  const inner = new Set<Expr>();
  yield* visitSteps(order, ({ op, args }) => {
    if (op === 'add' && goesOn(args[0])) inner.add(args[0]);
  });
  if (inner.size < BLOCK) return roots;
  const done = new Map<Expr, Expr>();
  const known = (node: Expr): Expr => done.get(node) ?? node;
  for (const node of order) {
    if (inner.has(node)) continue;
    const terms = node.op === 'add' ? termsOf(node, goesOn) : [];
    const value =
      terms.length > BLOCK
        ? yield* inBlocks(terms.map((term) => known(term) as RealExpr))
        : rebuilt(node, known, goesOn);
    done.set(node, value);
    yield;
  }
  return roots.map((root) => known(root) as RealExpr);
}

/** The terms of a sum, first to last. */
function termsOf(top: Expr, goesOn: (node: Expr | undefined) => boolean): Expr[] {
  const terms: Expr[] = [];
  let node = top;
  for (;;) {
    const [left, right] = node.args as [Expr, Expr];
    terms.push(right);
    node = left;
    if (goesOn(node)) continue;
    terms.push(node);
    return terms.reverse();
  }
}

function* inBlocks(terms: readonly RealExpr[]): Steps<RealExpr> {
  const blocks: RealExpr[] = [];
  for (let at = 0; at < terms.length; at += BLOCK) {
    blocks.push(terms.slice(at, at + BLOCK).reduce((sum, term) => add(sum, term)));
    yield;
  }
  return blocks.reduce((sum, block) => add(sum, block));
}

/** A node of new arguments; of a short sum all that were passed over. */
function rebuilt(
  node: Expr,
  known: (node: Expr) => Expr,
  goesOn: (node: Expr | undefined) => boolean,
): Expr {
  if (node.op !== 'add') return withArgs(node, node.args.map(known));
  return termsOf(node, goesOn)
    .map((term) => known(term) as RealExpr)
    .reduce((sum, term) => add(sum, term));
}
