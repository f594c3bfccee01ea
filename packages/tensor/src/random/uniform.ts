import type { DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { MercerError } from '../mercer-error.js';
import { pendingCall, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import type { Tensor } from '../tensor.js';
import {
  checkFinite,
  checkRandomDType,
  drawn,
  RANDOM_OPTIONS,
  type RandomDType,
  type RandomOptions,
} from './draw.js';

/** Options of {@link uniform}. */
export interface UniformOptions<D extends DType> extends RandomOptions<D> {
  /** Default: 0. */
  readonly low?: number | undefined;
  /** Default: 1. */
  readonly high?: number | undefined;
}

const UNIFORM_OPTIONS: OptionNames<UniformOptions<DType>> = {
  ...RANDOM_OPTIONS,
  low: true,
  high: true,
};

/** Bits of a number of [0, 1): as many as the dtype has. */
const BITS: Readonly<Record<RandomDType, number>> = {
  float64: 53,
  float32: 24,
  float16: 11,
  bfloat16: 8,
};

/**
 * Numbers that are equally likely everywhere in [low, high): `low + (high - low) u`, computed in float64 and rounded once, where u is a multiple of
 * 2^-24 in [0, 1) (of 2^-53, 2^-11 and 2^-8 in float64, float16 and bfloat16). So [0, 1) is exact; elsewhere rounding may give `high` itself.
 *
 * The numbers are a function of key, shape and options alone, bit for bit on every device, and those of a longer shape begin with those of a
 * shorter one. For a GPU they are drawn on the CPU
 * and copied.
 *
 * ```ts
 * import { random } from '@mercer/tensor';
 *
 * const x = await random.uniform([2, 3], { key: random.key(1), low: -1, device: 'cpu' });
 * console.log(x.shape, (await x.abs().max().item()) <= 1); // [ 2, 3 ] true
 * ```
 *
 * @param options key; low (default 0), high (default 1), dtype (default 'float32'), device, stream, signal
 * @returns row-major
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function uniform<D extends RandomDType = 'float32'>(
  shape: readonly number[],
  options: UniformOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const { low = 0, high = 1, ...given } = readOptions('uniform', options, UNIFORM_OPTIONS);
    const dtype = checkRandomDType(given.dtype, 'uniform') as D;
    checkFinite(low, 'low', 'uniform');
    checkFinite(high, 'high', 'uniform');
    const range = high - low;
    if (!(range >= 0 && Number.isFinite(range))) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `uniform: low is ${low} and high is ${high}. Pass a high that is not below low, nor infinitely far from it.`,
      );
    }
    const drawing = { kind: 'uniform', bits: BITS[dtype], shift: low, scale: range } as const;
    return drawn('uniform', shape, given, dtype, drawing);
  });
}
