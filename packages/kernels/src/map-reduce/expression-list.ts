import {
  build,
  call,
  finish,
  constant,
  orderSteps,
  visitSteps,
  type Expr,
  type MathOp,
  type RealExpr,
  type Steps,
} from '@mercer/formula';
import { fromJson, toJson, type ExpressionJson } from '../pairwise/expression-json.js';

/**
 * Expressions as plain data, shared parts once: `nodes` in order, each a leaf (a number or a variable's
 * name) or an operation with the places of its arguments, and the places of the expressions.
 */
export interface ExpressionList {
  readonly nodes: readonly ExpressionListNode[];
  readonly roots: readonly number[];
}

/** A leaf, or an operation's name and the places of its arguments; a function with its fixed numbers. */
export type ExpressionListNode =
  | { readonly leaf: ExpressionJson }
  | { readonly op: string; readonly args: readonly number[] }
  | {
      readonly fn: MathOp;
      readonly attributes: readonly number[];
      readonly args: readonly number[];
    };

/** Expressions as a list in which no part is written twice. */
export function toList(exprs: readonly Expr[]): ExpressionList {
  return finish(toListSteps(exprs));
}

/** {@link toList} in steps. */
export function* toListSteps(exprs: readonly Expr[]): Steps<ExpressionList> {
  const order = yield* orderSteps(exprs);
  const places = new Map<Expr, number>();
  const placeOf = (node: Expr): number => places.get(node) ?? -1;
  const nodes: ExpressionListNode[] = [];
  yield* visitSteps(order, (node, place) => {
    places.set(node, place);
    nodes.push(
      node.args.length === 0
        ? Object.freeze({ leaf: toJson(node) })
        : node.fn !== undefined
          ? Object.freeze({
              fn: node.fn,
              attributes: node.attributes ?? [],
              args: Object.freeze(node.args.map(placeOf)),
            })
          : Object.freeze({ op: node.op, args: Object.freeze(node.args.map(placeOf)) }),
    );
  });
  return Object.freeze({ nodes: Object.freeze(nodes), roots: Object.freeze(exprs.map(placeOf)) });
}

const isCall = (
  node: ExpressionListNode,
): node is Extract<ExpressionListNode, { readonly fn: MathOp }> => Object.hasOwn(node, 'fn');

/** The expressions that {@link toList} wrote. */
export function fromList(list: ExpressionList): RealExpr[] {
  return finish(fromListSteps(list));
}

/** {@link fromList} in steps. */
export function* fromListSteps({ nodes, roots }: ExpressionList): Steps<RealExpr[]> {
  const built: Expr[] = [];
  const at = (place: number): Expr => built[place] ?? constant(NaN);
  for (const node of nodes) {
    built.push(
      'leaf' in node
        ? fromJson(node.leaf)
        : isCall(node)
          ? call(node.fn, node.args.map(at) as RealExpr[], node.attributes)
          : build(node.op as Parameters<typeof build>[0], node.args.map(at)),
    );
    yield;
  }
  return roots.map((place) => built[place] as RealExpr);
}
