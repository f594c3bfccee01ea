import { isTensor, tensor, type Tensor, type TensorSource } from '@mercer/tensor';
import type { CdistOptions } from './cdist-options.js';

/** An input of a pairwise operation: a tensor, or data that one can be made from. */
export type PairwiseInput = Tensor | TensorSource;

/** Inputs as tensors; those that had to be made are disposed by `release`. */
export interface PlacedInputs {
  readonly a: Tensor;
  readonly b: Tensor;
  release(): void;
}

/**
 * Makes tensors of the inputs that are none yet, on the device of the other input, of `out` or of the options, in that
 * order.
 */
export async function placeInputs(
  a: PairwiseInput,
  b: PairwiseInput,
  options: Pick<CdistOptions, 'out' | 'stream' | 'device'>,
): Promise<PlacedInputs> {
  const made: Tensor[] = [];
  const home = [a, b, options.out].find(isTensor);
  const device = home?.device ?? options.device;
  const dtype = home?.dtype;
  const place = async (x: PairwiseInput): Promise<Tensor> => {
    if (isTensor(x)) return x;
    const { stream } = options;
    const placed = await tensor(x, { device, stream, ...(dtype === undefined ? {} : { dtype }) });
    made.push(placed);
    return placed;
  };
  const release = (): void => {
    for (const x of made) x.dispose();
  };
  try {
    return { a: await place(a), b: await place(b), release };
  } catch (error) {
    release();
    throw error;
  }
}
