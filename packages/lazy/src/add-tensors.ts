import { add, variable } from '@mercer/formula';
import { map, type Tensor, type WorkOptions } from '@mercer/tensor';

const SUM = add(variable('a'), variable('b'));

/** The sum of two tensors of one shape. */
export const addTensors = (
  a: Tensor,
  b: Tensor,
  { stream, signal }: WorkOptions,
): Promise<Tensor> => map(SUM, { a, b }, { stream, signal });
