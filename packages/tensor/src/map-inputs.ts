import type { DType } from '@mercer/kernels';
import type { Pending } from './pending.js';
import type { Tensor } from './tensor.js';

/** Tensors by the names that the formula knows them by. */
export type MapTensors<I extends DType = DType> = Readonly<Record<string, Tensor<I>>>;

/** Tensors, or results before they are awaited, by the names that the formula knows them by. */
export type MapInputs<I extends DType = DType> = Readonly<
  Record<string, Tensor<I> | Pending<Tensor<I>>>
>;

/** The same in an order. */
export interface NamedTensors {
  readonly names: readonly string[];
  readonly tensors: readonly Tensor[];
}

export function areSorted(names: readonly string[]): boolean {
  for (let at = 1; at < names.length; at++) {
    if ((names[at - 1] as string) >= (names[at] as string)) return false;
  }
  return true;
}
