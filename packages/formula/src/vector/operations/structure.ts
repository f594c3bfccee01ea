import { integer, toVector } from '../check-arguments.js';
import { place, slice } from '../nodes.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';

export { concat, gather, interleave, oneHot } from '../nodes.js';
export { repeat as sumT } from '../nodes.js';

/** Component k, from 0. */
export function elem(f: VectorOperand, k: number): VectorExpr {
  const arg = toVector('Elem', f);
  return slice(arg, integer('Elem', 'the component', k, 0, arg.dim - 1), 1);
}

/** The one component of `f` at place k of n zeros. */
export function elemT(f: VectorOperand, n: number, k: number): VectorExpr {
  return place(f, integer('ElemT', 'the component', k, 0, n - 1), n);
}

/** `length` components from `start`, or every `step`-th. */
export const extract = (f: VectorOperand, start: number, length: number, step = 1): VectorExpr =>
  slice(f, start, length, step);

/** The components of `f` from `start`, or at every `step`-th place, among n zeros. */
export const extractT = (f: VectorOperand, start: number, n: number, step = 1): VectorExpr =>
  place(f, start, n, step);
