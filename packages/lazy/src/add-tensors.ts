import { add, variable } from '@mercer/formula';
import { map, type StreamOption, type Tensor } from '@mercer/tensor';

const SUM = add(variable('a'), variable('b'));

/** The sum of two tensors of one shape. */
export function addTensors(a: Tensor, b: Tensor, { stream }: StreamOption): Promise<Tensor> {
  return map(SUM, { a, b }, { stream });
}

/** Adds `b` to `total`, of the same shape. */
export async function addInPlace(
  total: Tensor,
  b: Tensor,
  { stream }: StreamOption,
): Promise<void> {
  await map(SUM, { a: total, b }, { out: total, stream });
}
