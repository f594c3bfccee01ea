import {
  diff,
  divergence,
  grad,
  gradMatrix,
  laplacian,
  ops,
  traceOperator,
  type VectorExpr,
} from '@mercer/formula';
import { nodeAt } from './input.js';
import {
  checkVariable,
  combined,
  type LazyFormula,
  type LazyOperand,
  type Rules,
} from './lazy-formula.js';
import type { LazyData, Placeholder } from './make-input.js';
import { combine, type Symbolic } from './symbolic.js';
import { tableOf } from './table-of.js';

/** Methods of a symbolic matrix that give another one: an operation of formulas each. */
export interface LazyOperations {
  /** This plus `other`; here and below, an operand of dim 1 is repeated. */
  add(other: LazyOperand): this;
  /** This minus `other`. */
  sub(other: LazyOperand): this;
  /** This times `other`, component by component. */
  mul(other: LazyOperand): this;
  /** This divided by `other`. */
  div(other: LazyOperand): this;
  /** The smaller of both; NaN if either is. */
  minimum(other: LazyOperand): this;
  /** The larger of both; NaN if either is. */
  maximum(other: LazyOperand): this;
  /** 1 where both are equal, else 0; 0 where either is NaN. Comparisons have derivative 0. */
  eq(other: LazyOperand): this;
  /** 1 where both differ, else 0; 1 where either is NaN. */
  ne(other: LazyOperand): this;
  /** 1 where this is less, else 0. */
  lt(other: LazyOperand): this;
  /** 1 where this is less or equal, else 0. */
  le(other: LazyOperand): this;
  /** 1 where this is greater, else 0. */
  gt(other: LazyOperand): this;
  /** 1 where this is greater or equal, else 0. */
  ge(other: LazyOperand): this;
  /** The angle of the point (`other`, this), in (-pi, pi]. */
  atan2(other: LazyOperand): this;
  /** `log(e ^ this + e ^ other)` without overflow. */
  logAddExp(other: LazyOperand): this;

  /**
   * This to a power. Whole exponents are products; 0.5 and -0.5 are `sqrt` and `rsqrt`; other numbers and formulas are real
   * powers, NaN for negative bases.
   */
  pow(exponent: LazyOperand): this;

  /** This moved by multiples of `modulus` into [offset, offset + modulus), offset 0 by default: `x - n floor((x - offset) / n)`. */
  mod(modulus: LazyOperand, offset?: LazyOperand): this;
  /** This held between `low` and `high`; the derivative is 1 on the closed interval, else that of the bound. */
  clamp(low: LazyOperand, high: LazyOperand): this;
  /** `a` where this is 0 or more, else `b`; no derivative by this. */
  ifelse(a: LazyOperand, b: LazyOperand): this;
  /** `a` where this is not 0, else `b`: for comparisons and masks. The other value, NaN or not, is not seen. */
  where(a: LazyOperand, b: LazyOperand): this;

  /** `-x` */
  neg(): this;
  /** `|x|` */
  abs(): this;
  /** `e ^ x` */
  exp(): this;
  /** The natural logarithm. */
  log(): this;
  /** `x log x`, 0 at 0. */
  xlogx(): this;
  /** `log(1 + x)` without cancellation. */
  log1p(): this;
  /** `e ^ x - 1` without cancellation. */
  expm1(): this;
  /** `x * x` */
  square(): this;
  /** `1 / x` */
  inv(): this;
  /** The square root, with derivative 0 at 0. */
  sqrt(): this;
  /** `1 / sqrt(x)`, 0 at 0. */
  rsqrt(): this;
  /** The sine. */
  sin(): this;
  /** The cosine. */
  cos(): this;
  /** The tangent. */
  tan(): this;
  /** The inverse sine. */
  asin(): this;
  /** The inverse cosine. */
  acos(): this;
  /** The inverse tangent. */
  atan(): this;
  /** The hyperbolic sine. */
  sinh(): this;
  /** The hyperbolic cosine. */
  cosh(): this;
  /** The hyperbolic tangent. */
  tanh(): this;
  /** `sin(pi x) / (pi x)`, 1 at 0. */
  sinc(): this;
  /** `sin(x) / x`, 1 at 0. */
  sinxdivx(): this;
  /** -1, 0 or 1; derivative 0. */
  sign(): this;
  /** 1 where x is 0 or more, else 0; derivative 0. */
  step(): this;
  /** The larger of x and 0; derivative 1 at 0. */
  relu(): this;
  /** The largest integer not above x; derivative 0. */
  floor(): this;
  /** The smallest integer not below x; derivative 0. */
  ceil(): this;
  /** `1 / (1 + e ^ -x)` */
  logistic(): this;
  /** `log(1 + e ^ x)` without overflow. */
  softplus(): this;
  /** The error function. */
  erf(): this;
  /** `1 - erf(x)` without cancellation. */
  erfc(): this;
  /** `log |Gamma(x)|` */
  lgamma(): this;
  /** To so many decimals, by default none, half away from zero; derivative 0. */
  round(decimals?: number): this;
  /** Derivative number `order + 1` of `log Gamma`: digamma for order 0. */
  polygamma(order: number): this;
  /** The Bessel function of the first kind of integer order. */
  besselJ(order: number): this;
  /** The modified Bessel function of the second kind of real order, for x > 0. */
  besselK(order: number): this;

  /** The inner product with a vector of the same dim: dim 1. */
  dot(other: LazyOperand): this;
  /** The squared length: dim 1. */
  sqnorm2(): this;
  /** The length, with gradient 0 at 0: dim 1. */
  norm2(): this;
  /** The length: `norm2` under its short name. */
  norm(): this;
  /** This divided by its length; 0 stays 0. */
  normalize(): this;
  /** The squared distance: dim 1. */
  sqdist(other: LazyOperand): this;

  /**
   * The squared length with weights. Weights of dim 1: `w |x|^2`; of the dim d of this: `sum w_k x_k^2`; of dim d * d:
   * `x' W x`, W row-major.
   */
  weightedSqnorm(weights: LazyOperand): this;

  /** The squared distance with weights, as `weightedSqnorm` of the difference. */
  weightedSqdist(other: LazyOperand, weights: LazyOperand): this;
  /** Soft dynamic time warping of two series with squared differences, smoothed by gamma > 0 (Cuturi and Blondel, 2017). */
  softDtwSqdist(other: LazyOperand, gamma: LazyOperand): this;
  /** Component k, from 0. */
  elem(k: number): this;
  /** `length` components from `start`. */
  extract(start: number, length: number): this;
  /** The one component of this at place k of n zeros. */
  elemT(n: number, k: number): this;
  /** The components of this from `start` among n zeros. */
  extractT(start: number, n: number): this;
  /** The one component of this, `dim` times. */
  repeat(dim: number): this;
  /** 1 at component `floor(x + 1/2)` of n, else 0; all 0 outside. This has dim 1. */
  oneHot(n: number): this;

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
  gather(table: LazyData | LazyFormula | Placeholder): this;

  /** The components of this, then those of the others. */
  concat(...others: readonly LazyOperand[]): this;
  /** The B-splines of an order on this, the ascending knots, at the scalar `x`: dim of this - order - 1. */
  bspline(x: LazyOperand, order: number): this;
  /** This, a row-major matrix of n * p numbers, times a vector of p: n numbers. */
  matvecmult(vector: LazyOperand): this;
  /** This, a vector of n, times a row-major matrix of n * p numbers: p numbers. */
  vecmatmult(matrix: LazyOperand): this;
  /** All products of two components: entry `k * dim(other) + l`. */
  tensorprod(other: LazyOperand): this;

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
  ): this;

  /** The Kronecker product of two tensors with as many axes: sizes multiply axis by axis. */
  kron(other: LazyOperand, shape: readonly number[], otherShape: readonly number[]): this;

  /**
   * The gradient by a variable, applied to `seed`: the transposed derivative times the seed, of the dim of the variable. The
   * seed has the dim of this, or 1 and is repeated; by default it is 1.
   *
   * @throws LazyError where `variable` is no input by itself
   */
  grad(variable: LazyFormula, seed?: LazyOperand): this;

  /** The derivative in a direction of a variable: of the dim of this. */
  diff(variable: LazyFormula, direction: LazyOperand): this;
  /** All gradients by a variable: dim of this times dim of the variable, block k that of component k. */
  gradMatrix(variable: LazyFormula): this;
  /** The sum over k of the derivative of component k by component k of the variable. */
  divergence(variable: LazyFormula): this;
  /** The sum of the second derivatives by each component of the variable, of a formula of dim 1. */
  laplacian(variable: LazyFormula): this;

  /**
   * The trace of the matrix of a formula that is linear in a variable, `sum_k w_k M_kk`; a formula of dim 1 counts as repeated.
   * The weights have the dim of the variable, or 1; by default they are 1.
   */
  traceOperator(variable: LazyFormula, weights?: LazyOperand): this;
}

const unary =
  (build: (f: VectorExpr) => VectorExpr) =>
  (what: string, x: LazyFormula): Symbolic =>
    combine(what, [x], build);

const binary =
  (build: (f: VectorExpr, g: VectorExpr) => VectorExpr) =>
  (what: string, x: LazyFormula, other: LazyOperand): Symbolic =>
    combined(what, x, [other], build);

/** With a number in the place of the last operand where it is left out, if there is one. */
const ternary =
  (build: (f: VectorExpr, g: VectorExpr, h: VectorExpr) => VectorExpr, byDefault?: number) =>
  (
    what: string,
    x: LazyFormula,
    a: LazyOperand,
    b: LazyOperand | undefined = byDefault,
  ): Symbolic =>
    combined(what, x, [a, b], build);

/** Numbers that are no formulas follow the operands. */
const unaryWith =
  <N extends unknown[]>(build: (f: VectorExpr, ...numbers: N) => VectorExpr) =>
  (what: string, x: LazyFormula, ...numbers: N): Symbolic =>
    combine(what, [x], (f) => build(f, ...numbers));

const binaryWith =
  <N extends unknown[]>(build: (f: VectorExpr, g: VectorExpr, ...numbers: N) => VectorExpr) =>
  (what: string, x: LazyFormula, other: LazyOperand, ...numbers: N): Symbolic =>
    combined(what, x, [other], (f, g) => build(f, g, ...numbers));

/** The first operand is a variable. */
const byVariable =
  <A extends unknown[]>(
    rule: (what: string, x: LazyFormula, by: LazyFormula, ...rest: A) => Symbolic,
  ) =>
  (what: string, x: LazyFormula, variable: LazyFormula, ...rest: A): Symbolic => {
    checkVariable(what, variable);
    return rule(what, x, variable, ...rest);
  };

/** Which operation of formulas a method is, and what it takes. */
export const OPERATIONS: Rules<LazyOperations> = {
  add: binary(ops.add),
  sub: binary(ops.sub),
  mul: binary(ops.mul),
  div: binary(ops.div),
  minimum: binary(ops.minimum),
  maximum: binary(ops.maximum),
  eq: binary(ops.equal),
  ne: binary(ops.notEqual),
  lt: binary(ops.lessThan),
  le: binary(ops.lessOrEqual),
  gt: binary(ops.greaterThan),
  ge: binary(ops.greaterOrEqual),
  atan2: binary(ops.atan2),
  logAddExp: binary(ops.logAddExp),
  pow: (what, x, exponent) => {
    if (exponent === 0.5) return combine(what, [x], ops.sqrt);
    if (exponent === -0.5) return combine(what, [x], ops.rsqrt);
    if (typeof exponent === 'number' && Number.isInteger(exponent)) {
      return combine(what, [x], (f) => ops.pow(f, exponent));
    }
    return combined(what, x, [exponent], ops.powf);
  },
  mod: (what, x, modulus, offset = 0) =>
    combined(what, x, [modulus, offset], (f, n, at) => ops.mod(f, n, offset === 0 ? 0 : at)),
  clamp: ternary(ops.clamp),
  ifelse: ternary(ops.ifElse),
  where: ternary(ops.where),

  neg: unary(ops.neg),
  abs: unary(ops.abs),
  exp: unary(ops.exp),
  log: unary(ops.log),
  xlogx: unary(ops.xlogx),
  log1p: unary(ops.log1p),
  expm1: unary(ops.expm1),
  square: unary(ops.square),
  inv: unary(ops.inv),
  sqrt: unary(ops.sqrt),
  rsqrt: unary(ops.rsqrt),
  sin: unary(ops.sin),
  cos: unary(ops.cos),
  tan: unary(ops.tan),
  asin: unary(ops.asin),
  acos: unary(ops.acos),
  atan: unary(ops.atan),
  sinh: unary(ops.sinh),
  cosh: unary(ops.cosh),
  tanh: unary(ops.tanh),
  sinc: unary(ops.sinc),
  sinxdivx: unary(ops.sinXDivX),
  sign: unary(ops.sign),
  step: unary(ops.step),
  relu: unary(ops.relu),
  floor: unary(ops.floor),
  ceil: unary(ops.ceil),
  logistic: unary(ops.logistic),
  softplus: unary(ops.softplus),
  erf: unary(ops.erf),
  erfc: unary(ops.erfc),
  lgamma: unary(ops.lgamma),
  round: unaryWith(ops.round),
  polygamma: unaryWith(ops.polygamma),
  besselJ: unaryWith(ops.besselJ),
  besselK: unaryWith(ops.besselK),

  dot: binary(ops.dot),
  sqnorm2: unary(ops.sqNorm2),
  norm2: unary(ops.norm2),
  norm: unary(ops.norm2),
  normalize: unary(ops.normalize),
  sqdist: binary(ops.sqDist),
  weightedSqnorm: binary((f, w) => ops.weightedSqNorm(w, f)),
  weightedSqdist: ternary((f, g, w) => ops.weightedSqDist(w, f, g)),
  softDtwSqdist: ternary(ops.softDtwSqDist),
  elem: unaryWith(ops.elem),
  extract: unaryWith((f, start: number, length: number) => ops.extract(f, start, length)),
  elemT: unaryWith(ops.elemT),
  extractT: unaryWith((f, start: number, n: number) => ops.extractT(f, start, n)),
  repeat: unaryWith(ops.sumT),
  oneHot: unaryWith(ops.oneHot),
  gather: (what, x, table) => {
    const rows = tableOf(what, table);
    const part = { formula: nodeAt(rows, 0), inputs: [rows] };
    return combine(what, [x, part], (at, from) => ops.gather(from, at));
  },
  concat: (what, x, ...others) => combined(what, x, others, ops.concat),
  bspline: binaryWith(ops.bSpline),
  matvecmult: binary(ops.matVecMult),
  vecmatmult: binary(ops.vecMatMult),
  tensorprod: binary(ops.tensorProd),
  tensordot: binaryWith(ops.tensorDot),
  kron: binaryWith(ops.kron),

  grad: byVariable(ternary(grad, 1)),
  diff: byVariable(ternary(diff)),
  gradMatrix: byVariable(binary(gradMatrix)),
  divergence: byVariable(binary(divergence)),
  laplacian: byVariable(binary(laplacian)),
  traceOperator: byVariable(ternary(traceOperator, 1)),
};
