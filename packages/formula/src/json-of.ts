import type { Expr } from './expr.js';
import { orderNodes } from './post-order.js';

/**
 * A node as plain data: a number, the name of a variable, or an operation and the places of its arguments in the list. A function has its
 * name and its fixed numbers before them. Numbers that JSON does not have are texts: ['const', 'NaN'].
 */
export type ExprJson = number | string | readonly (number | string)[];

/** An expression as plain data, shared parts once: its nodes, arguments before the nodes that use them; the last is the expression. */
export function jsonOf(expr: Expr): readonly ExprJson[] {
  const order = orderNodes(expr);
  const places = new Map(order.map((node, place) => [node, place]));
  return order.map(({ op, args, value, name, fn, attributes = [] }): ExprJson => {
    if (name !== undefined) return name;
    if (value !== undefined) {
      return Number.isFinite(value) && !Object.is(value, -0) ? value : ['const', textOf(value)];
    }
    const operands = args.map((arg) => places.get(arg) ?? NaN);
    return fn === undefined ? [op, ...operands] : [op, fn, ...attributes, ...operands];
  });
}

const textOf = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));
