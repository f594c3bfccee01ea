import type { DType } from '@mercer/kernels';
import type { Pending } from './pending.js';
import type { Tensor } from './tensor.js';

/** Tensors by the names that the formula knows them by. */
export type MapTensors<I extends DType = DType> = Readonly<Record<string, Tensor<I>>>;

/** Tensors, or results before they are awaited, by the names that the formula knows them by. */
export type MapInputs<I extends DType = DType> = Readonly<
  Record<string, Tensor<I> | Pending<Tensor<I>>>
>;
