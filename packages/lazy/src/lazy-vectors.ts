import { ops } from '@mercer/formula';
import { nodeAt } from './input.js';
import type { LazyFormula, LazyOperand } from './lazy-formula.js';
import { LazyFunctions } from './lazy-functions.js';
import type { LazyDType } from './lazy-dtype.js';
import type { LazyData, Placeholder } from './make-input.js';
import { combine } from './symbolic.js';
import { tableOf } from './table-of.js';

/** Vectors: norms, components, structure, small matrices, splines. */
export abstract class LazyVectors<D extends LazyDType = LazyDType> extends LazyFunctions<D> {
  /** The inner product with a vector of the same dim: dim 1. */
  dot(other: LazyOperand): this {
    return this.binary('dot', other, ops.dot);
  }

  /** The squared length: dim 1. */
  sqnorm2(): this {
    return this.unary('sqnorm2', ops.sqNorm2);
  }

  /** The length, with gradient 0 at 0: dim 1. */
  norm2(): this {
    return this.unary('norm2', ops.norm2);
  }

  /** The length: `norm2` under its short name. */
  norm(): this {
    return this.unary('norm', ops.norm2);
  }

  /** This divided by its length; 0 stays 0. */
  normalize(): this {
    return this.unary('normalize', ops.normalize);
  }

  /** The squared distance: dim 1. */
  sqdist(other: LazyOperand): this {
    return this.binary('sqdist', other, ops.sqDist);
  }

  /**
   * The squared length with weights. Weights of dim 1: `w |x|^2`; of the dim d of this: `sum w_k x_k^2`; of dim d * d:
   * `x' W x`, W row-major.
   */
  weightedSqnorm(weights: LazyOperand): this {
    return this.apply('weightedSqnorm', [weights], (f, w) => ops.weightedSqNorm(w, f));
  }

  /** The squared distance with weights, as `weightedSqnorm` of the difference. */
  weightedSqdist(other: LazyOperand, weights: LazyOperand): this {
    return this.apply('weightedSqdist', [other, weights], (f, g, w) => ops.weightedSqDist(w, f, g));
  }

  /** Soft dynamic time warping of two series with squared differences, smoothed by gamma > 0 (Cuturi and Blondel, 2017). */
  softDtwSqdist(other: LazyOperand, gamma: LazyOperand): this {
    return this.apply('softDtwSqdist', [other, gamma], (f, g, at) => ops.softDtwSqDist(f, g, at));
  }

  /** Component k, from 0. */
  elem(k: number): this {
    return this.unary('elem', (f) => ops.elem(f, k));
  }

  /** `length` components from `start`. */
  extract(start: number, length: number): this {
    return this.unary('extract', (f) => ops.extract(f, start, length));
  }

  /** The one component of this at place k of n zeros. */
  elemT(n: number, k: number): this {
    return this.unary('elemT', (f) => ops.elemT(f, n, k));
  }

  /** The components of this from `start` among n zeros. */
  extractT(start: number, n: number): this {
    return this.unary('extractT', (f) => ops.extractT(f, start, n));
  }

  /** The one component of this, `dim` times. */
  repeat(dim: number): this {
    return this.unary('repeat', (f) => ops.sumT(f, dim));
  }

  /** 1 at component `floor(x + 1/2)` of n, else 0; all 0 outside. This has dim 1. */
  oneHot(n: number): this {
    return this.unary('oneHot', (f) => ops.oneHot(f, n));
  }

  /**
   * Row number `floor(x + 1/2)` of a table, where x is this, of dim 1: labels to centres, indices to rows. NaN where the
   * table has no such row. A table has rows of its own, (..batch, rows, dim), whatever the numbers of i and j; it may be data or
   * a variable. `gradient` and `valueAndGradients` go through it: the gradient by a variable has what its rows by index add, of a
   * row that the table has not nothing, and the one by an index is 0. To `grad` and its kin, which give formulas, a row by
   * index is another input than the row itself.
   *
   * @throws LazyError DIM_MISMATCH for an index of another dim, INVALID_ARGUMENT for a table that is a formula; MercerError
   * SHAPE_MISMATCH for a table of fewer than two axes, DTYPE_MISMATCH where it has another dtype than the other inputs
   *
   * @example
   * ```ts
   * import { lazyI, lazyJ } from '@mercer/lazy';
   *
   * const centres = [[0], [10]];
   * const labels = lazyJ([[0], [1], [1]]);
   * const points = lazyJ([[1], [9], [12]]);
   * const inertia = points.sqdist(labels.gather(centres)).mul(lazyI([[1]]));
   * console.log(await (await inertia.sum('j', { device: 'cpu' })).toNested()); // [ [ 6 ] ]
   * ```
   */
  gather(table: LazyData | LazyFormula | Placeholder): this {
    const rows = tableOf('gather', table);
    const part = { formula: nodeAt(rows, 0), inputs: [rows] };
    return this.derive(
      'gather',
      combine('gather', [this, part], (x, from) => ops.gather(from, x)),
    );
  }

  /** The components of this, then those of the others. */
  concat(...others: readonly LazyOperand[]): this {
    return this.apply('concat', others, (...all) => ops.concat(...all));
  }

  /** The B-splines of an order on this, the ascending knots, at the scalar `x`: dim of this - order - 1. */
  bspline(x: LazyOperand, order: number): this {
    return this.apply('bspline', [x], (knots, at) => ops.bSpline(knots, at, order));
  }

  /** This, a row-major matrix of n * p numbers, times a vector of p: n numbers. */
  matvecmult(vector: LazyOperand): this {
    return this.binary('matvecmult', vector, ops.matVecMult);
  }

  /** This, a vector of n, times a row-major matrix of n * p numbers: p numbers. */
  vecmatmult(matrix: LazyOperand): this {
    return this.binary('vecmatmult', matrix, ops.vecMatMult);
  }

  /** All products of two components: entry `k * dim(other) + l`. */
  tensorprod(other: LazyOperand): this {
    return this.binary('tensorprod', other, ops.tensorProd);
  }

  /**
   * The contraction of two tensors stored row-major: axis `axes[k]` of this is summed with `otherAxes[k]` of the other. The
   * kept axes are those of this, then of the other; `permutation[k]` is the place of kept axis k in the result.
   */
  tensordot(
    other: LazyOperand,
    shape: readonly number[],
    otherShape: readonly number[],
    axes: readonly number[],
    otherAxes: readonly number[],
    permutation?: readonly number[],
  ): this {
    return this.binary('tensordot', other, (f, g) =>
      ops.tensorDot(f, g, shape, otherShape, axes, otherAxes, permutation),
    );
  }

  /** The Kronecker product of two tensors with as many axes: sizes multiply axis by axis. */
  kron(other: LazyOperand, shape: readonly number[], otherShape: readonly number[]): this {
    return this.binary('kron', other, (f, g) => ops.kron(f, g, shape, otherShape));
  }
}
