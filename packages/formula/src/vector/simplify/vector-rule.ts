import type { Kind, NodeOfKind, VectorExpr } from '../vector-expr.js';

/** A rewriting of a node whose arguments are in normal form; `undefined` where none applies. */
export type VectorRule<K extends Kind> = (node: NodeOfKind<K>) => VectorExpr | undefined;
