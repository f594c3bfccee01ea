import type { Expr } from './expr.js';

/** What a rule may ask about a node beside its shape. */
export interface Facts {
  /** True if the node is >= 0 or NaN for all data. */
  isNonNegative(node: Expr): boolean;
}

/** A rewriting of a node whose arguments are in normal form; `undefined` where none applies. */
export type SimplifyRule = (node: Expr, facts: Facts) => Expr | undefined;
