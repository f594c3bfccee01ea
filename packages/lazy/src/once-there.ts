import type { Pending, Tensor } from '@mercer/tensor';
import {
  isTraced,
  pendingAfter,
  promiseOf,
  promisesTraced,
  whenArrived,
} from '@mercer/tensor/operation';
import type { Symbolic } from './symbolic.js';
import { holdTraced } from './traced-inputs.js';

/** What a call gives once its operand is there, at the place that it has now; the inputs of its matrix are its own until then. */
export function onceThere<T extends Tensor>(
  operand: Pending<Tensor>,
  { inputs }: Symbolic,
  options: object | undefined,
  call: (there: Tensor) => Promise<T>,
): Pending<T> {
  const held = inputs.map(({ source }) => source.kind === 'tensor' && source.tensor);
  const result = promiseOf(() =>
    whenArrived([operand, ...held, options], ([there]) => call(there as Tensor)),
  );
  const found = pendingAfter([operand], result);
  return isTraced(operand) || holdTraced(inputs) ? promisesTraced(found) : found;
}
