import { dimError, toVector } from '../check-arguments.js';
import { components } from '../nodes.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';
import { mul, square, sub } from './arithmetic.js';
import { rsqrt, sqrt } from './functions.js';
import { matVecMult } from './matrices.js';

/** The sum of all components. */
export const sum = (f: VectorOperand): VectorExpr => components('sum', f);
/** The largest component; NaN if one is. Its derivative is that of the first largest. */
export const max = (f: VectorOperand): VectorExpr => components('max', f);
/** The smallest component; NaN if one is. Its derivative is that of the first smallest. */
export const min = (f: VectorOperand): VectorExpr => components('min', f);
/** The index of the first largest component, of the first NaN if there is one; derivative 0. */
export const argMax = (f: VectorOperand): VectorExpr => components('argmax', f);
/** The index of the first smallest component, of the first NaN if there is one; derivative 0. */
export const argMin = (f: VectorOperand): VectorExpr => components('argmin', f);

/** The inner product of two vectors of the same dim: `f | g`. */
export function dot(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = [toVector("'|'", f), toVector("'|'", g)];
  if (a.dim !== b.dim) {
    throw dimError(
      "'|'",
      `the arguments have dims ${a.dim} and ${b.dim}`,
      'An inner product takes two vectors of the same dim; Sum(f * g) repeats one of dim 1.',
    );
  }
  return sum(a === b ? square(a) : mul(a, b));
}

/** The squared length. */
export const sqNorm2 = (f: VectorOperand): VectorExpr => sum(square(f));
/** The length, with gradient 0 at 0. */
export const norm2 = (f: VectorOperand): VectorExpr => sqrt(sqNorm2(f));
/** `f` divided by its length; 0 stays 0. */
export const normalize = (f: VectorOperand): VectorExpr => mul(rsqrt(sqNorm2(f)), f);
/** The squared distance. */
export const sqDist = (f: VectorOperand, g: VectorOperand): VectorExpr => sqNorm2(sub(f, g));

/**
 * A weighted squared length. `a` of dim 1: `a |f|^2`; of the dim of f: `sum a_k f_k^2`; of its
 * square: `f' A f`, A row-major and symmetric (the derivative holds for any A).
 */
export function weightedSqNorm(a: VectorOperand, f: VectorOperand): VectorExpr {
  const [w, x] = [toVector('WeightedSqNorm', a), toVector('WeightedSqNorm', f)];
  if (w.dim === 1) return mul(w, sqNorm2(x));
  if (w.dim === x.dim) return sum(mul(w, square(x)));
  if (w.dim === x.dim * x.dim) return sum(mul(x, matVecMult(w, x)));
  throw dimError(
    'WeightedSqNorm',
    `the weight has dim ${w.dim} and the vector has dim ${x.dim}`,
    `Give a weight of dim 1, ${x.dim} or ${x.dim * x.dim}.`,
  );
}

/** {@link weightedSqNorm} of `f - g`. */
export const weightedSqDist = (a: VectorOperand, f: VectorOperand, g: VectorOperand): VectorExpr =>
  weightedSqNorm(a, sub(f, g));

const named =
  (name: string, power: number) =>
  (a: VectorOperand, f: VectorOperand): VectorExpr => {
    const [w, x] = [toVector(name, a), toVector(name, f)];
    if (w.dim !== x.dim ** power) {
      throw dimError(name, `the weight has dim ${w.dim}`, `Give one of dim ${x.dim ** power}.`);
    }
    return power === 2 ? sum(mul(x, matVecMult(w, x))) : weightedSqNorm(w, x);
  };

/** `a |f|^2`, a of dim 1. */
export const sqNormIso = named('SqNormIso', 0);
/** `sum a_k f_k^2`, a of the dim of f. */
export const sqNormDiag = named('SqNormDiag', 1);
/** `f' A f`, A symmetric, row-major. */
export const symSqNorm = named('SymSqNorm', 2);
