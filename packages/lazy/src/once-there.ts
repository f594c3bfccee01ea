import type { Pending, Tensor } from '@mercer/tensor';
import {
  callsWhenArrived,
  isTraced,
  pending,
  pendingAfter,
  promiseOf,
  promisesTraced,
  whenArrived,
} from '@mercer/tensor/operation';
import { makesSeveralCalls } from './reductions.js';
import type { Symbolic } from './symbolic.js';
import { holdTraced } from './traced-inputs.js';

/**
 * What a call gives once its operand is there; the inputs of its matrix are its own until then. It comes at the place that it has now, but where it makes several
 * calls: in blocks, or with other processes.
 */
export function onceThere<T extends Tensor>(
  operand: Pending<Tensor>,
  { inputs }: Symbolic,
  options: object | undefined,
  call: (there: Tensor) => Promise<T>,
): Pending<T> {
  const held = inputs.map(({ source }) => source.kind === 'tensor' && source.tensor);
  const given = [operand, ...held, options];
  const makes = ([there]: readonly unknown[]): Promise<T> => call(there as Tensor);
  const found = makesSeveralCalls(inputs, [], options)
    ? pending(promiseOf(() => callsWhenArrived(given, makes)))
    : pendingAfter(
        [operand],
        promiseOf(() => whenArrived(given, makes)),
      );
  return isTraced(operand) || holdTraced(inputs) ? promisesTraced(found) : found;
}
