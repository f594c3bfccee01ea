import type { Tensor } from '@mercer/tensor';
import { aligned } from '@mercer/tensor/operation';
import type { Input } from './input.js';
import type { InputsApart } from './traced-inputs.js';

/** Inputs of all examples: those that are mapped have one batch axis more in front. Undefined where one does not know its sizes yet. */
export function mappedInputs(
  { bind, places }: InputsApart,
  tensors: readonly Tensor[],
  isMapped: readonly boolean[],
  size: number,
): readonly Input[] | undefined {
  const inputs = bind(tensors);
  if (inputs.some(({ extent }) => extent === undefined)) return undefined;
  const batchOf = ({ extent }: Input): readonly number[] => extent?.batchShape ?? [];
  const axes = Math.max(...inputs.map((one) => batchOf(one).length));
  return inputs.map((one, at) => {
    const place = places[at] ?? -1;
    const tensor = tensors[place];
    if (isMapped[place] !== true || tensor === undefined || one.extent === undefined) return one;
    const batch = batchOf(one);
    const ones = axes - batch.length;
    const rank = tensor.shape.length - 1 + ones;
    const whole = aligned(tensor, true, rank) as Tensor;
    const batchShape = [size, ...new Array<number>(ones).fill(1), ...batch];
    return {
      ...one,
      source: { kind: 'tensor', tensor: whole },
      extent: { ...one.extent, batchShape },
    };
  });
}
