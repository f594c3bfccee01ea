import { input, indexOf } from './nodes.js';
import type { VariableNode, VectorExpr } from './vector-expr.js';

/** Input `position` with a row of `dim` numbers for every i: KeOps' Vi. */
export const vi = (position: number, dim: number): VariableNode => input('i', position, dim);
/** Input `position` with a row of `dim` numbers for every j: KeOps' Vj. */
export const vj = (position: number, dim: number): VariableNode => input('j', position, dim);
/** Input `position` with `dim` numbers for every pair (i, j). */
export const vij = (position: number, dim: number): VariableNode => input('pair', position, dim);
/** Input `position` with one row of `dim` numbers: KeOps' Pm. */
export const pm = (position: number, dim: number): VariableNode =>
  input('parameter', position, dim);
/** The number of the row i, from 0. */
export const indexI: VectorExpr = indexOf('i');
/** The number of the row j, from 0. */
export const indexJ: VectorExpr = indexOf('j');
