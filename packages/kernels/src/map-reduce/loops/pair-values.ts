import {
  mul,
  postOrder,
  variable,
  variablesOfAll,
  withArgs,
  type Expr,
  type RealExpr,
  type Steps,
} from '@mercer/formula/plan';
import type { LoweredLoop } from '../lowering/lower.js';
import { onOwnStack, type Rule } from '../lowering/own-stack.js';
import { columnName, type ComponentLoad, type ComponentNumber } from './loop-formula.js';

/** The scalar variable that stands for pair value `n` in a column. */
export const pairValueName = (n: number): string => `W${n}`;

/** What is computed for columns, over pair values that are computed once for a pair of rows. */
export interface PairSplit {
  readonly columns: readonly RealExpr[];
  readonly loops: readonly LoweredLoop[];
  readonly pair: readonly RealExpr[];
  /** The loads, where those of a column take rows by index whose numbers are pair values. */
  readonly loads: readonly ComponentLoad[];
}

/**
 * Takes out of the values of columns, one of each reduction, and of the loops in them, every largest part that is the same for all
 * columns and is more than a load; of a product it takes the factors that are. The values `first` come first among the
 * pair values.
 */
export function* splitPairValues(
  columns: readonly RealExpr[],
  first: readonly RealExpr[],
  lowered: {
    readonly loads: readonly ComponentLoad[];
    readonly numbers: readonly ComponentNumber[];
    readonly loops: readonly LoweredLoop[];
  },
): Steps<PairSplit> {
  const { loads, numbers, loops } = lowered;
  const parents = new Map(loops.map(({ counter, parent }) => [counter, parent]));
  const counters = new Set(columns.map((_, n) => columnName(n)));
  const isCounter = (word: string): boolean => counters.has(word) || parents.has(word);
  const readsCounter = (text: string): boolean => (text.match(/\w+/g) ?? []).some(isCounter);
  const moving = new Set([
    ...[...loads, ...numbers].filter(({ index }) => readsCounter(index)).map(({ name }) => name),
    ...loops.filter(({ parent }) => parent !== '').map(({ name }) => name),
  ]);
  // leaves that are more than a load
  const computed = new Set([
    ...loops.map(({ name }) => name),
    ...loads
      .filter(({ row, category }) => row !== undefined || category === 'pair')
      .map(({ name }) => name),
  ]);
  // Of every node whether it moves with a column, and whether it reads anything; products of factors are new nodes.
  const reads = new Map<Expr, Reads>();
  const readsOf = (node: Expr): Reads => {
    for (const one of reads.has(node) ? [] : unread(node, reads)) {
      const below = one.args.map((arg) => reads.get(arg));
      reads.set(one, {
        moving: one.name === undefined ? below.some((r) => r?.moving) : moving.has(one.name),
        any: one.name !== undefined || below.some((r) => r?.any),
      });
    }
    return reads.get(node) ?? { moving: false, any: false };
  };
  const isStill = (node: Expr): boolean => !readsOf(node).moving;
  const pair: RealExpr[] = [...first];
  const places = new Map<Expr, number>();
  first.forEach((node, place) => {
    if (!places.has(node)) places.set(node, place);
  });
  const hold = (node: RealExpr): string => {
    const place = places.get(node) ?? pair.push(node) - 1;
    places.set(node, place);
    return pairValueName(place);
  };
  const known = new Map<Expr, Expr>();
  // A node waits for those it is made of, in their order.
  const rebuild = (root: Expr): Steps<Expr> =>
    onOwnStack(root, (node) => {
      const value = known.get(node);
      return value === undefined
        ? { rule: remade(node), keep: (made) => known.set(node, made) }
        : { known: value };
    });
  function* remade(node: Expr): Rule<Expr, Expr> {
    const isHeld = node.name !== undefined && computed.has(node.name) && !moving.has(node.name);
    if (node.args.length === 0 && !isHeld) return node;
    if (node.type === 'real' && readsOf(node).any && isStill(node)) {
      return variable(hold(node as RealExpr));
    }
    const factors = node.op === 'mul' ? factorsOf(node) : [];
    const still = factors.filter(isStill);
    if (still.length > 1 && still.some((factor) => readsOf(factor).any)) {
      const others = factors.filter((factor) => !still.includes(factor));
      const rebuilt: RealExpr[] = [];
      for (const factor of others) rebuilt.push((yield factor) as RealExpr);
      return mul(productOf(rebuilt), (yield productOf(still)) as RealExpr);
    }
    const args: Expr[] = [];
    for (const arg of node.args) args.push(yield arg);
    return withArgs(node, args);
  }
  const stands = (counter: string): boolean =>
    counters.has(counter) || (parents.has(counter) && stands(parents.get(counter) ?? ''));
  const rebuilt: RealExpr[] = [];
  for (const column of columns) rebuilt.push((yield* rebuild(column)) as RealExpr);
  const within: LoweredLoop[] = [];
  for (const loop of loops) {
    within.push(
      stands(loop.counter) ? { ...loop, body: (yield* rebuild(loop.body)) as RealExpr } : loop,
    );
  }
  const bodies = within.filter(({ counter }) => stands(counter)).map(({ body }) => body);
  const read = new Set(variablesOfAll([...rebuilt, ...bodies]));
  return {
    columns: rebuilt,
    loops: within,
    loads: loads.map((load) =>
      load.row !== undefined && read.has(load.name)
        ? { ...load, row: { ...load.row, name: hold(variable(load.row.name)) } }
        : load,
    ),
    pair,
  };
}

const productOf = (factors: readonly RealExpr[]): RealExpr =>
  factors.reduce((product, factor) => mul(product, factor));

/** What an expression reads. */
interface Reads {
  readonly moving: boolean;
  readonly any: boolean;
}

/** The nodes of an expression that are not in a map yet, arguments first. */
function unread(root: Expr, known: ReadonlyMap<Expr, unknown>): Expr[] {
  if (root.args.every((arg) => known.has(arg))) return [root];
  return postOrder(root).filter((node) => !known.has(node));
}

/** The factors of a product, of products too. */
function factorsOf(node: Expr): RealExpr[] {
  const factors: RealExpr[] = [];
  const stack = [node];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top.op === 'mul') stack.push(...top.args.toReversed());
    else factors.push(top as RealExpr);
  }
  return factors;
}
