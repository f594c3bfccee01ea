import type { DType } from '@mercer/kernels';
import type { Tensor } from './tensor.js';

/** Tensors by the names that the formula knows them by. */
export type MapInputs<I extends DType = DType> = Readonly<Record<string, Tensor<I>>>;
