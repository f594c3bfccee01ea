import type { DType } from '@mercer/kernels';

/**
 * Methods of tensors that other packages bring: a package extends this interface by declaration merging and calls
 * `attachMethods` when it is imported. Each returns a promise, so that tensors and pending tensors have the same ones.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- extended elsewhere
export interface TensorMethods<D extends DType> {}
