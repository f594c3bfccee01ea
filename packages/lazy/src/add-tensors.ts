import { add, variable } from '@mercer/formula';
import { map, type WorkOptions, type Tensor } from '@mercer/tensor';
import { differentiable } from '@mercer/tensor/operation';

const SUM = add(variable('a'), variable('b'));

/** The sum of two tensors of one shape. */
export const addTensors = differentiable<
  (a: Tensor, b: Tensor, options: WorkOptions) => Promise<Tensor>,
  readonly [a: Tensor, b: Tensor]
>('add', (a, b, { stream, signal }) => map(SUM, { a, b }, { stream, signal }), {
  vjp: (g) => [() => g, () => g],
});
