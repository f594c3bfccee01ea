import { ops, type DefinedOperation, type VectorExpr } from '@mercer/formula';
import { LazyFormula, type LazyOperand } from './lazy-formula.js';
import type { LazyDType } from './lazy-dtype.js';

/** Two formulas, component by component. */
export abstract class LazyArithmetic<D extends LazyDType = LazyDType> extends LazyFormula<D> {
  protected binary(
    what: string,
    other: LazyOperand,
    build: (f: VectorExpr, g: VectorExpr) => VectorExpr,
  ): this {
    return this.apply(what, [other], (f, g) => build(f, g));
  }

  /** This plus `other`; here and below, an operand of dim 1 is repeated. */
  add(other: LazyOperand): this {
    return this.binary('add', other, ops.add);
  }

  /** This minus `other`. */
  sub(other: LazyOperand): this {
    return this.binary('sub', other, ops.sub);
  }

  /** This times `other`, component by component. */
  mul(other: LazyOperand): this {
    return this.binary('mul', other, ops.mul);
  }

  /** This divided by `other`. */
  div(other: LazyOperand): this {
    return this.binary('div', other, ops.div);
  }

  /** The smaller of both; NaN if either is. */
  minimum(other: LazyOperand): this {
    return this.binary('minimum', other, ops.minimum);
  }

  /** The larger of both; NaN if either is. */
  maximum(other: LazyOperand): this {
    return this.binary('maximum', other, ops.maximum);
  }

  /** 1 where both are equal, else 0; 0 where either is NaN. Comparisons have derivative 0. */
  eq(other: LazyOperand): this {
    return this.binary('eq', other, ops.equal);
  }

  /** 1 where both differ, else 0; 1 where either is NaN. */
  ne(other: LazyOperand): this {
    return this.binary('ne', other, ops.notEqual);
  }

  /** 1 where this is less, else 0. */
  lt(other: LazyOperand): this {
    return this.binary('lt', other, ops.lessThan);
  }

  /** 1 where this is less or equal, else 0. */
  le(other: LazyOperand): this {
    return this.binary('le', other, ops.lessOrEqual);
  }

  /** 1 where this is greater, else 0. */
  gt(other: LazyOperand): this {
    return this.binary('gt', other, ops.greaterThan);
  }

  /** 1 where this is greater or equal, else 0. */
  ge(other: LazyOperand): this {
    return this.binary('ge', other, ops.greaterOrEqual);
  }

  /** The angle of the point (`other`, this), in (-pi, pi]. */
  atan2(other: LazyOperand): this {
    return this.binary('atan2', other, ops.atan2);
  }

  /** `log(e ^ this + e ^ other)` without overflow. */
  logAddExp(other: LazyOperand): this {
    return this.binary('logAddExp', other, ops.logAddExp);
  }

  /**
   * This to a power. Whole exponents are products; 0.5 and -0.5 are `sqrt` and `rsqrt`; other numbers and formulas are real
   * powers, NaN for negative bases.
   */
  pow(exponent: LazyOperand): this {
    if (exponent === 0.5) return this.apply('pow', [], (f) => ops.sqrt(f));
    if (exponent === -0.5) return this.apply('pow', [], (f) => ops.rsqrt(f));
    if (typeof exponent === 'number' && Number.isInteger(exponent)) {
      return this.apply('pow', [], (f) => ops.pow(f, exponent));
    }
    return this.binary('pow', exponent, ops.powf);
  }

  /** This moved by multiples of `modulus` into [offset, offset + modulus): `x - n floor((x - offset) / n)`. */
  mod(modulus: LazyOperand, offset: LazyOperand = 0): this {
    return this.apply('mod', [modulus, offset], (f, n, at) => ops.mod(f, n, offset === 0 ? 0 : at));
  }

  /** This held between `low` and `high`; the derivative is 1 on the closed interval, else that of the bound. */
  clamp(low: LazyOperand, high: LazyOperand): this {
    return this.apply('clamp', [low, high], (f, a, b) => ops.clamp(f, a, b));
  }

  /** `a` where this is 0 or more, else `b`; no derivative by this. */
  ifelse(a: LazyOperand, b: LazyOperand): this {
    return this.apply('ifelse', [a, b], (f, x, y) => ops.ifElse(f, x, y));
  }

  /** `a` where this is not 0, else `b`: for comparisons and masks. The other value, NaN or not, is not seen. */
  where(a: LazyOperand, b: LazyOperand): this {
    return this.apply('where', [a, b], (f, x, y) => ops.where(f, x, y));
  }

  /**
   * An operation of `defineOp` of `@mercer/formula`, with this as its first argument: differentiable, and computed in the kernel.
   *
   * @throws LazyError INVALID_ARGUMENT for another number of arguments, and what the operations inside say
   *
   * @example
   * ```ts
   * import { defineOp, ops } from '@mercer/formula';
   * import { lazyI } from '@mercer/lazy';
   *
   * const swish = defineOp('Swish', ['x', 'beta'], ({ x, beta }) => ops.mul(x, ops.logistic(ops.mul(beta, x))));
   * const sums = await lazyI([[0], [100]]).operation(swish, 2).sum('j', { device: 'cpu' });
   * console.log(await sums.toNested()); // [ [ 0 ], [ 100 ] ]
   * ```
   */
  operation(op: DefinedOperation, ...others: readonly LazyOperand[]): this {
    return this.apply(op.opName, others, (...all) => op(...all));
  }
}
