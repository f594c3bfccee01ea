import { ops, type VectorExpr } from '@mercer/formula';
import { LazyArithmetic } from './lazy-arithmetic.js';
import type { LazyDType } from './lazy-dtype.js';

/** Functions of one formula, component by component. */
export abstract class LazyFunctions<D extends LazyDType = LazyDType> extends LazyArithmetic<D> {
  protected unary(what: string, build: (f: VectorExpr) => VectorExpr): this {
    return this.apply(what, [], (f) => build(f));
  }

  /** `-x` */
  neg(): this {
    return this.unary('neg', ops.neg);
  }

  /** `|x|` */
  abs(): this {
    return this.unary('abs', ops.abs);
  }

  /** `e ^ x` */
  exp(): this {
    return this.unary('exp', ops.exp);
  }

  /** The natural logarithm. */
  log(): this {
    return this.unary('log', ops.log);
  }

  /** `x log x`, 0 at 0. */
  xlogx(): this {
    return this.unary('xlogx', ops.xlogx);
  }

  /** `log(1 + x)` without cancellation. */
  log1p(): this {
    return this.unary('log1p', ops.log1p);
  }

  /** `e ^ x - 1` without cancellation. */
  expm1(): this {
    return this.unary('expm1', ops.expm1);
  }

  /** `x * x` */
  square(): this {
    return this.unary('square', ops.square);
  }

  /** `1 / x` */
  inv(): this {
    return this.unary('inv', ops.inv);
  }

  /** The square root, with derivative 0 at 0. */
  sqrt(): this {
    return this.unary('sqrt', ops.sqrt);
  }

  /** `1 / sqrt(x)`, 0 at 0. */
  rsqrt(): this {
    return this.unary('rsqrt', ops.rsqrt);
  }

  /** The sine. */
  sin(): this {
    return this.unary('sin', ops.sin);
  }

  /** The cosine. */
  cos(): this {
    return this.unary('cos', ops.cos);
  }

  /** The tangent. */
  tan(): this {
    return this.unary('tan', ops.tan);
  }

  /** The inverse sine. */
  asin(): this {
    return this.unary('asin', ops.asin);
  }

  /** The inverse cosine. */
  acos(): this {
    return this.unary('acos', ops.acos);
  }

  /** The inverse tangent. */
  atan(): this {
    return this.unary('atan', ops.atan);
  }

  /** The hyperbolic sine. */
  sinh(): this {
    return this.unary('sinh', ops.sinh);
  }

  /** The hyperbolic cosine. */
  cosh(): this {
    return this.unary('cosh', ops.cosh);
  }

  /** The hyperbolic tangent. */
  tanh(): this {
    return this.unary('tanh', ops.tanh);
  }

  /** `sin(pi x) / (pi x)`, 1 at 0. */
  sinc(): this {
    return this.unary('sinc', ops.sinc);
  }

  /** `sin(x) / x`, 1 at 0. */
  sinxdivx(): this {
    return this.unary('sinxdivx', (f) => ops.sinXDivX(f));
  }

  /** -1, 0 or 1; derivative 0. */
  sign(): this {
    return this.unary('sign', ops.sign);
  }

  /** 1 where x is 0 or more, else 0; derivative 0. */
  step(): this {
    return this.unary('step', ops.step);
  }

  /** The larger of x and 0; derivative 1 at 0. */
  relu(): this {
    return this.unary('relu', ops.relu);
  }

  /** The largest integer not above x; derivative 0. */
  floor(): this {
    return this.unary('floor', ops.floor);
  }

  /** The smallest integer not below x; derivative 0. */
  ceil(): this {
    return this.unary('ceil', ops.ceil);
  }

  /** `1 / (1 + e ^ -x)` */
  logistic(): this {
    return this.unary('logistic', ops.logistic);
  }

  /** `log(1 + e ^ x)` without overflow. */
  softplus(): this {
    return this.unary('softplus', ops.softplus);
  }

  /** The error function. */
  erf(): this {
    return this.unary('erf', ops.erf);
  }

  /** `1 - erf(x)` without cancellation. */
  erfc(): this {
    return this.unary('erfc', ops.erfc);
  }

  /** `log |Gamma(x)|` */
  lgamma(): this {
    return this.unary('lgamma', ops.lgamma);
  }

  /** To so many decimals, half away from zero; derivative 0. */
  round(decimals = 0): this {
    return this.unary('round', (f) => ops.round(f, decimals));
  }

  /** Derivative number `order + 1` of `log Gamma`: digamma for order 0. */
  polygamma(order: number): this {
    return this.unary('polygamma', (f) => ops.polygamma(f, order));
  }

  /** The Bessel function of the first kind of integer order. */
  besselJ(order: number): this {
    return this.unary('besselJ', (f) => ops.besselJ(f, order));
  }

  /** The modified Bessel function of the second kind of real order, for x > 0. */
  besselK(order: number): this {
    return this.unary('besselK', (f) => ops.besselK(f, order));
  }
}
