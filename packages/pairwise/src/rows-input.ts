import type { PairwiseDType } from '@mercer/kernels';
import type { Pending, RowReader, Tensor, TensorOperand, TensorSource } from '@mercer/tensor';
import type { HostOut } from './blocks/result-sink.js';

/** Rows as a caller gives them: a tensor, a result that is not awaited, or data that one is made from. */
export type RowsInput<D extends PairwiseDType = PairwiseDType> = TensorOperand<D> | TensorSource;

/** Rows of a call that may be computed block by block: also those of a file, such as `openNpy` gives. */
export type BlockRows<D extends PairwiseDType = PairwiseDType> = RowsInput<D> | RowReader;

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

/** What may stand beside `A` where rows may be those of a file. */
export type BlockRowsBeside<A> = RowsBeside<A> | RowReader;

/** What a call gives with an `out` of type `O`. */
export type ResultIn<O, D extends PairwiseDType> = O extends HostOut
  ? Promise<NoInfer<O>>
  : Pending<Tensor<D>>;
