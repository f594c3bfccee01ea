import { refusePromise } from '@mercer/options';
import {
  isTensor,
  tensor,
  type DeviceLike,
  type OutOption,
  type SignalOption,
  type Tensor,
  type TensorSource,
} from '@mercer/tensor';

/** An input of a pairwise operation: a tensor, or data that one can be made from. */
export type PairwiseInput = Tensor | TensorSource;

interface PlaceOptions extends OutOption, SignalOption {
  readonly device?: DeviceLike | undefined;
}

/**
 * Makes tensors of the inputs that are none yet, on the device of the first that is one, of `out`, of a parameter or of the options, in
 * that order. Those that are made are pushed to `made`. Messages name the inputs `a`, `b`, `c` and `d`.
 *
 * @throws MercerError INVALID_ARGUMENT for a promise, and as `tensor`
 */
export async function placeAll(
  what: string,
  inputs: readonly PairwiseInput[],
  { out, device: wanted, stream, signal }: PlaceOptions,
  parameters: readonly Tensor[],
  made: Tensor[],
): Promise<readonly Tensor[]> {
  inputs.forEach((input, at) => {
    refusePromise(input, `${what}: ${'abcd'.charAt(at)}`);
  });
  const home = [...inputs, out, ...parameters].find(isTensor);
  const device = home?.device ?? wanted;
  const dtype = home?.dtype;
  const tensors: Tensor[] = [];
  for (const input of inputs) {
    if (isTensor(input)) {
      tensors.push(input);
      continue;
    }
    const given = { device, stream, signal, ...(dtype === undefined ? {} : { dtype }) };
    const placed = await tensor(input, given);
    made.push(placed);
    tensors.push(placed);
  }
  return tensors;
}
