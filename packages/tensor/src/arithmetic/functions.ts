import type { DType } from '@mercer/kernels';
import { elementwise, type ElementwiseOptions } from './elementwise.js';
import { clamped } from './methods.js';
import type { OperatorName } from './operators.js';
import type {
  CommonDType,
  Elementwise,
  FloatingDType,
  Operand,
  OperandKind,
  SameDType,
  TensorOperand,
} from './result-types.js';

/** A function of two operands, of which one is a tensor, in their common dtype. */
export type CommonFunction = <A extends OperandKind = 'number', B extends OperandKind = 'number'>(
  x: Operand<A>,
  y: Operand<B>,
  options?: ElementwiseOptions,
) => Elementwise<CommonDType<A, B>>;

/** A function of two operands, of which one is a tensor, in floating point. */
export type FloatingFunction = <A extends OperandKind = 'number', B extends OperandKind = 'number'>(
  x: Operand<A>,
  y: Operand<B>,
  options?: ElementwiseOptions,
) => Elementwise<FloatingDType<A, B>>;

/** A comparison of two operands, of which one is a tensor. */
export type ComparisonFunction = (
  x: Operand,
  y: Operand,
  options?: ElementwiseOptions,
) => Elementwise<'bool'>;

/** A function of one tensor that keeps its dtype; floats of 16 bits give float32, bool int32. */
export type SameFunction = <A extends DType>(
  x: TensorOperand<A>,
  options?: ElementwiseOptions,
) => Elementwise<SameDType<A>>;

/** A function of one tensor in floating point. */
export type FloatingUnaryFunction = <A extends DType>(
  x: TensorOperand<A>,
  options?: ElementwiseOptions,
) => Elementwise<FloatingDType<A>>;

/** A question to every element of a tensor. */
export type TruthFunction = (x: TensorOperand, options?: ElementwiseOptions) => Elementwise<'bool'>;

const one =
  (name: OperatorName) =>
  (x: unknown, options?: unknown): never =>
    elementwise(name, [x], options) as never;

const two =
  (name: OperatorName) =>
  (x: unknown, y: unknown, options?: unknown): never =>
    elementwise(name, [x, y], options) as never;

/**
 * `x + y`, element by element, as every function of this group: numpy's broadcasting, operands tensors, results before they are awaited, or
 * numbers. What they give is computed when it is awaited or used by something else, in one kernel with the elementwise results among its
 * operands; options (`out`, `stream`, `debug`, `signal`) compute it at once.
 *
 * dtypes: float64 where an operand is float64; else float32 where one is a float (16 bits included); else the larger of bool, uint8,
 * int32 and int64. A number takes part in the tensor's dtype: beside whole numbers one with a fraction gives float32, and bool counts
 * as int32. Integers are exact up to 2^53 and saturate at the ends of their dtype.
 *
 * ```ts
 * import { add, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await add(x, 0.5).mul(2).toNested()); // [ [ 3, 5 ], [ 7, 9 ] ]
 * ```
 *
 * @throws MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED at the call; with `out` also DTYPE_MISMATCH, OVERLAP
 */
export const add: CommonFunction = two('add');

/** `x - y`; see {@link add}. */
export const sub: CommonFunction = two('sub');

/** `x y`; see {@link add}. */
export const mul: CommonFunction = two('mul');

/** The remainder with y's sign, as numpy's: `x - y floor(x / y)`, as exact as x is, NaN or infinite where `x / y` overflows; see {@link add}. */
export const mod: CommonFunction = two('mod');

/**
 * `x ^ y` as IEEE 754 defines pow, but that 0 has no sign; exact for whole numbers, where a fraction counts as 0. A whole exponent given as
 * a number up to 8 is a product. See {@link add}.
 */
export const pow: CommonFunction = two('pow');

/** The smaller of both; NaN where either is; see {@link add}. */
export const minimum: CommonFunction = two('minimum');

/** The larger of both; NaN where either is; see {@link add}. */
export const maximum: CommonFunction = two('maximum');

/** `x / y` in floating point: whole numbers give float32; see {@link add}. */
export const div: FloatingFunction = two('div');

/** The angle of the point (y, x), from -pi to pi: `atan2(y, x)` as Math.atan2; see {@link div}. */
export const atan2: FloatingFunction = two('atan2');

/** `x == y` as bool, compared in the common dtype: false where either is NaN; see {@link add}. */
export const eq: ComparisonFunction = two('eq');

/** `x != y`; true where either is NaN; see {@link eq}. */
export const ne: ComparisonFunction = two('ne');

/** `x < y`; see {@link eq}. */
export const lt: ComparisonFunction = two('lt');

/** `x <= y`; see {@link eq}. */
export const le: ComparisonFunction = two('le');

/** `x > y`; see {@link eq}. */
export const gt: ComparisonFunction = two('gt');

/** `x >= y`; see {@link eq}. */
export const ge: ComparisonFunction = two('ge');

/** True where both are true; numbers are true where they are not 0; see {@link eq}. */
export const logicalAnd: ComparisonFunction = two('logicalAnd');

/** True where either is true; see {@link logicalAnd}. */
export const logicalOr: ComparisonFunction = two('logicalOr');

/** True where one is true and the other is not; see {@link logicalAnd}. */
export const logicalXor: ComparisonFunction = two('logicalXor');

/** `-x`; see {@link add}. */
export const neg: SameFunction = one('neg');

/** `|x|`; see {@link add}. */
export const abs: SameFunction = one('abs');

/** -1, 0 or 1; NaN of NaN; see {@link add}. */
export const sign: SameFunction = one('sign');

/** `x x`; see {@link add}. */
export const square: SameFunction = one('square');

/** `x` where it is positive, else 0; NaN of NaN; see {@link add}. */
export const relu: SameFunction = one('relu');

/** The largest whole number that is not above x; see {@link add}. */
export const floor: SameFunction = one('floor');

/** The smallest whole number that is not below x; see {@link add}. */
export const ceil: SameFunction = one('ceil');

/** The nearest whole number, the even one of two, as numpy rounds; see {@link add}. */
export const round: SameFunction = one('round');

/** `1 / x`; see {@link exp}. */
export const reciprocal: FloatingUnaryFunction = one('reciprocal');

/** `e ^ x` in floating point: whole numbers give float32; see {@link add}. */
export const exp: FloatingUnaryFunction = one('exp');

/** `e ^ x - 1` without cancellation at 0; see {@link exp}. */
export const expm1: FloatingUnaryFunction = one('expm1');

/** Natural logarithm; -inf at 0, NaN below; see {@link exp}. */
export const log: FloatingUnaryFunction = one('log');

/** Logarithm to base 2: `log(x) log2(e)`; see {@link exp}. */
export const log2: FloatingUnaryFunction = one('log2');

/** Logarithm to base 10: `log(x) log10(e)`; see {@link exp}. */
export const log10: FloatingUnaryFunction = one('log10');

/** `log(1 + x)` without cancellation at 0; see {@link exp}. */
export const log1p: FloatingUnaryFunction = one('log1p');

/** Square root; NaN below 0; see {@link exp}. */
export const sqrt: FloatingUnaryFunction = one('sqrt');

/** `1 / sqrt(x)`, and 0 at 0 by convention, so that the gradient of a norm at 0 is 0; see {@link exp}. */
export const rsqrt: FloatingUnaryFunction = one('rsqrt');

/** Sine of an angle in radians; see {@link exp}. */
export const sin: FloatingUnaryFunction = one('sin');

/** Cosine of an angle in radians; see {@link exp}. */
export const cos: FloatingUnaryFunction = one('cos');

/** Tangent of an angle in radians; see {@link exp}. */
export const tan: FloatingUnaryFunction = one('tan');

/** Arc sine, in radians; NaN outside [-1, 1]; see {@link exp}. */
export const asin: FloatingUnaryFunction = one('asin');

/** Arc cosine, in radians; NaN outside [-1, 1]; see {@link exp}. */
export const acos: FloatingUnaryFunction = one('acos');

/** Arc tangent, in radians; see {@link exp}. */
export const atan: FloatingUnaryFunction = one('atan');

/** Hyperbolic sine; see {@link exp}. */
export const sinh: FloatingUnaryFunction = one('sinh');

/** Hyperbolic cosine; see {@link exp}. */
export const cosh: FloatingUnaryFunction = one('cosh');

/** Hyperbolic tangent; see {@link exp}. */
export const tanh: FloatingUnaryFunction = one('tanh');

/** The error function; see {@link exp}. */
export const erf: FloatingUnaryFunction = one('erf');

/** `1 - erf(x)` without cancellation; see {@link exp}. */
export const erfc: FloatingUnaryFunction = one('erfc');

/** The logarithm of the absolute value of the gamma function; see {@link exp}. */
export const lgamma: FloatingUnaryFunction = one('lgamma');

/** `1 / (1 + exp(-x))`; see {@link exp}. */
export const sigmoid: FloatingUnaryFunction = one('sigmoid');

/** `log(1 + exp(x))`; see {@link exp}. */
export const softplus: FloatingUnaryFunction = one('softplus');

/** `x Phi(x)` with the distribution function Phi of the normal distribution (Hendrycks and Gimpel 2016), not its tanh form; see {@link exp}. */
export const gelu: FloatingUnaryFunction = one('gelu');

/** True where x is 0 or false; see {@link eq}. */
export const logicalNot: TruthFunction = one('logicalNot');

/** True where x is NaN; see {@link eq}. */
export const isNaN: TruthFunction = one('isNaN');

/** True where x is neither infinite nor NaN; see {@link eq}. */
export const isFinite: TruthFunction = one('isFinite');

/** True where x is +inf or -inf; see {@link eq}. */
export const isInfinite: TruthFunction = one('isInfinite');

/** `x` where the condition is true, or not 0, else `y`; all three broadcast together; see {@link add}. */
export function where<A extends OperandKind = 'number', B extends OperandKind = 'number'>(
  condition: TensorOperand,
  x: Operand<A>,
  y: Operand<B>,
  options?: ElementwiseOptions,
): Elementwise<CommonDType<A, B>> {
  return elementwise('where', [condition, x, y], options) as never;
}

/**
 * `x` not below `least` and not above `most`; undefined is no limit. NaN stays NaN; where the limits are exchanged it is `most`. See
 * {@link add}.
 */
export function clamp<A extends DType, B extends OperandKind = 'number'>(
  x: TensorOperand<A>,
  least: Operand<B> | undefined,
  most?: Operand<B>,
  options?: ElementwiseOptions,
): Elementwise<CommonDType<A, B>> {
  return clamped(x, least, most, options) as never;
}
