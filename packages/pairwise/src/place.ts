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

/** Inputs as tensors; those that had to be made are disposed by `release`. */
export interface PlacedInputs {
  readonly a: Tensor;
  /** The same tensor as a where b was left out. */
  readonly b: Tensor;
  release(): void;
}

interface PlaceOptions extends OutOption, SignalOption {
  readonly device?: DeviceLike | undefined;
}

/**
 * Makes tensors of the inputs that are none yet, on the device of the other input, of `out`, of a parameter or of the
 * options, in that order.
 *
 * @throws MercerError INVALID_ARGUMENT for a promise, and as `tensor`
 */
export async function placeInputs(
  what: string,
  a: PairwiseInput,
  b: PairwiseInput | undefined,
  options: PlaceOptions,
  parameters: readonly Tensor[] = [],
): Promise<PlacedInputs> {
  const inputs = b === undefined ? { a } : { a, b };
  const placed = await placeAll(what, inputs, options, parameters);
  const [first, second = first] = placed.tensors as [Tensor, Tensor?];
  const release = (): void => {
    placed.release();
  };
  return { a: first, b: second, release };
}

/** The same for any number of inputs, by name. */
export async function placeAll(
  what: string,
  inputs: Readonly<Record<string, PairwiseInput>>,
  options: PlaceOptions,
  parameters: readonly Tensor[] = [],
): Promise<{ readonly tensors: readonly Tensor[]; release(): void }> {
  for (const [name, input] of Object.entries(inputs)) refusePromise(input, `${what}: ${name}`);
  const given = Object.values(inputs);
  const made: Tensor[] = [];
  const home = [...given, options.out, ...parameters].find(isTensor);
  const device = home?.device ?? options.device;
  const dtype = home?.dtype;
  const place = async (x: PairwiseInput): Promise<Tensor> => {
    if (isTensor(x)) return x;
    const { stream, signal } = options;
    const placed = await tensor(x, {
      device,
      stream,
      signal,
      ...(dtype === undefined ? {} : { dtype }),
    });
    made.push(placed);
    return placed;
  };
  const release = (): void => {
    for (const x of made) x.dispose();
  };
  try {
    const tensors: Tensor[] = [];
    for (const input of given) tensors.push(await place(input));
    return { tensors, release };
  } catch (error) {
    release();
    throw error;
  }
}
