import type { Pending, Tensor } from '@mercer/tensor';
import { isTraced, pendingOf, promisesTraced } from '@mercer/tensor/operation';
import type { OperatorDType } from './operators/operator-types.js';

/** What is computed of these, with the methods of its tensor. */
export function promised<D extends OperatorDType>(
  given: readonly unknown[],
  compute: () => Promise<Tensor<D>>,
): Pending<Tensor<D>> {
  const found = pendingOf(compute);
  return given.some(isTraced) ? promisesTraced(found) : found;
}
