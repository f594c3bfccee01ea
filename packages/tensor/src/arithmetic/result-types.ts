import type { DType } from '@mercer/kernels';
import type { Pending } from '../pending.js';
import type { Tensor } from '../tensor.js';
import type { ElementwiseOptions } from './elementwise.js';

/** A dtype, or what a number is. */
export type OperandKind = DType | 'number';

/** What elementwise operations take: tensors, results before they are awaited, and numbers, which have no dtype of their own. */
export type Operand<K extends OperandKind = OperandKind> =
  Tensor<K & DType> | Pending<Tensor<K & DType>> | number | boolean;

/** An operand that is no number. */
export type TensorOperand<D extends DType = DType> = Tensor<D> | Pending<Tensor<D>>;

/** Dtypes by the dtype of a second operand. Tables, not conditions: with them a `Tensor<'float32'>` is a `Tensor`. */
type Row<T extends Readonly<Record<OperandKind, DType>>> = T;
type Double = Row<Readonly<Record<OperandKind, 'float64'>>>;
type Single = Row<
  Readonly<Record<Exclude<OperandKind, 'float64'>, 'float32'>> & { readonly float64: 'float64' }
>;
interface Int64 {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int64';
  readonly uint8: 'int64';
  readonly bool: 'int64';
  readonly number: 'int64' | 'float32';
}
interface Int32 {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int32';
  readonly uint8: 'int32';
  readonly bool: 'int32';
  readonly number: 'int32' | 'float32';
}
interface Uint8 {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int32';
  readonly uint8: 'uint8';
  readonly bool: 'uint8';
  readonly number: 'uint8' | 'float32';
}
interface Bool {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int32';
  readonly uint8: 'uint8';
  readonly bool: 'bool';
  readonly number: 'int32' | 'float32';
}
interface Numbers {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64' | 'float32';
  readonly int32: 'int32' | 'float32';
  readonly uint8: 'uint8' | 'float32';
  readonly bool: 'int32' | 'float32';
  readonly number: 'int32' | 'float32';
}
interface Common {
  readonly float64: Double;
  readonly float32: Single;
  readonly float16: Single;
  readonly bfloat16: Single;
  readonly int64: Int64;
  readonly int32: Int32;
  readonly uint8: Uint8;
  readonly bool: Bool;
  readonly number: Numbers;
}
interface Floating {
  readonly float64: Double;
  readonly float32: Single;
  readonly float16: Single;
  readonly bfloat16: Single;
  readonly int64: Single;
  readonly int32: Single;
  readonly uint8: Single;
  readonly bool: Single;
  readonly number: Single;
}
interface Same {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int32';
  readonly uint8: 'uint8';
  readonly bool: 'int32';
}

interface Total {
  readonly float64: 'float64';
  readonly float32: 'float32';
  readonly float16: 'float32';
  readonly bfloat16: 'float32';
  readonly int64: 'int64';
  readonly int32: 'int64';
  readonly uint8: 'int64';
  readonly bool: 'int64';
}

/** The dtype in which two operands meet. */
export type CommonDType<A extends OperandKind, B extends OperandKind = 'number'> = Common[A][B];

/** The dtype of what is computed of them in floating point. */
export type FloatingDType<A extends OperandKind, B extends OperandKind = 'number'> = Floating[A][B];

/** The dtype of arithmetic on one tensor. */
export type SameDType<D extends DType> = Same[D];

/** The dtype of a sum or product of a tensor's elements. */
export type TotalDType<D extends DType> = Total[D];

/** An elementwise result. */
export type Elementwise<D extends DType> = Pending<Tensor<D>>;

/** `x.add(y)`: in the common dtype. */
export type CommonMethod<A extends DType> = <B extends OperandKind = 'number'>(
  other: Operand<B>,
  options?: ElementwiseOptions,
) => Elementwise<CommonDType<A, B>>;

/** `x.div(y)`: in floating point. */
export type FloatingMethod<A extends DType> = <B extends OperandKind = 'number'>(
  other: Operand<B>,
  options?: ElementwiseOptions,
) => Elementwise<FloatingDType<A, B>>;

/** `x.lt(y)`. */
export type ComparisonMethod = (
  other: Operand,
  options?: ElementwiseOptions,
) => Elementwise<'bool'>;

/** `x.abs()`: floats of 16 bits give float32, bool int32. */
export type SameMethod<A extends DType> = (
  options?: ElementwiseOptions,
) => Elementwise<SameDType<A>>;

/** `x.exp()`. */
export type FloatingUnaryMethod<A extends DType> = (
  options?: ElementwiseOptions,
) => Elementwise<FloatingDType<A>>;

/** `x.isNaN()`. */
export type TruthMethod = (options?: ElementwiseOptions) => Elementwise<'bool'>;
