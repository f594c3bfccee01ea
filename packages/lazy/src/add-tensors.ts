import { add, variable } from '@mercer/formula';
import { map, type WorkOptions, type Tensor } from '@mercer/tensor';

const SUM = add(variable('a'), variable('b'));

/** The sum of two tensors of one shape. */
export function addTensors(a: Tensor, b: Tensor, { stream, signal }: WorkOptions): Promise<Tensor> {
  return map(SUM, { a, b }, { stream, signal });
}

/** Adds `b` to `total`, of the same shape. */
export async function addInPlace(
  total: Tensor,
  b: Tensor,
  { stream, signal }: WorkOptions,
): Promise<void> {
  await map(SUM, { a: total, b }, { out: total, stream, signal });
}
