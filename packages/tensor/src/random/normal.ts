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

/** Options of {@link normal}. */
export interface NormalOptions<D extends DType> extends RandomOptions<D> {
  /** Default: 0. */
  readonly mean?: number | undefined;
  /** The standard deviation. Default: 1. */
  readonly deviation?: number | undefined;
}

const NORMAL_OPTIONS: OptionNames<NormalOptions<DType>> = {
  ...RANDOM_OPTIONS,
  mean: true,
  deviation: true,
};

/**
 * Normally distributed numbers: `mean + deviation z`, computed in float64 and rounded once. z is the quantile of a uniform number with 32 bits (53
 * in float64), by Wichura's algorithm AS 241 (1988), within 2^-50 of itself; |z| is below 6.4 (8.3 in float64).
 *
 * All steps are sums, products, quotients and square roots of float64, each rounded as IEEE 754 says. So the numbers are a function of key, shape and
 * options alone, bit for bit on every device, and those of a longer shape begin with those of a shorter one. For a GPU they are drawn on the CPU and copied.
 *
 * ```ts
 * import { random } from '@mercer/tensor';
 *
 * const x = await random.normal([1000], { key: random.key(1), mean: 5, device: 'cpu' });
 * console.log(Math.round(await x.mean().item())); // 5
 * ```
 *
 * @param options key; mean (default 0), deviation (default 1), dtype (default 'float32'), device, stream, signal
 * @returns row-major
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function normal<D extends RandomDType = 'float32'>(
  shape: readonly number[],
  options: NormalOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const { mean = 0, deviation = 1, ...given } = readOptions('normal', options, NORMAL_OPTIONS);
    const dtype = checkRandomDType(given.dtype, 'normal') as D;
    checkFinite(mean, 'the mean', 'normal');
    checkFinite(deviation, 'the deviation', 'normal');
    if (deviation < 0) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `normal: the deviation is ${deviation}. Pass a standard deviation of 0 or more.`,
      );
    }
    const bits = dtype === 'float64' ? 53 : 32;
    const drawing = { kind: 'normal', bits, shift: mean, scale: deviation } as const;
    return drawn('normal', shape, given, dtype, drawing);
  });
}
