import type { PairwiseDType } from '@mercer/kernels';
import type { TensorOperand, TensorSource } from '@mercer/tensor';

/** Rows as a caller gives them: a tensor, a result that is not awaited, or data that one is made from. */
export type RowsInput<D extends PairwiseDType = PairwiseDType> = TensorOperand<D> | TensorSource;

/** What may stand beside `A`: data, or a tensor, of the same dtype where `A` is one. */
export type RowsBeside<A> = RowsInput<
  A extends TensorOperand<infer D extends PairwiseDType> ? D : PairwiseDType
>;

/** The dtype of a result: that of the first input that is a tensor. */
export type DTypeOfRows<A, B = undefined> =
  A extends TensorOperand<infer D extends PairwiseDType>
    ? D
    : B extends TensorOperand<infer D extends PairwiseDType>
      ? D
      : PairwiseDType;
