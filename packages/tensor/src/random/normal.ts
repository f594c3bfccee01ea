import type { DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { MercerError } from '../mercer-error.js';
import { pendingOf, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import type { Tensor } from '../tensor.js';
import {
  checkFinite,
  checkRandomDType,
  drawn,
  RANDOM_OPTIONS,
  type Drawing,
  type RandomDType,
  type RandomOptions,
} from './draw.js';
import { normalQuantile } from './normal-quantile.js';

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

/** A standard normal number: its sign is the highest bit, and the others say which share of the half it lies in. */
const SINGLE: Drawing = {
  words: 1,
  number: (word) => {
    const z = normalQuantile((2 * (word & 0x7fffffff) + 1) * 2 ** -33);
    return word >>> 31 === 0 ? z : -z;
  },
};
const DOUBLE: Drawing = {
  words: 2,
  number: (word, next) => {
    const k = (word & 0x7fffffff) * 2 ** 21 + (next >>> 11);
    const z = normalQuantile((2 * k + 1) * 2 ** -54);
    return word >>> 31 === 0 ? z : -z;
  },
};

/**
 * Normally distributed numbers: `mean + deviation z`, computed in float64 and rounded once. z is the quantile of a uniform number with 32 bits (53
 * in float64), by Wichura's algorithm AS 241 (1988), within 2^-50 of itself; |z| is below 6.4 (8.3 in float64).
 *
 * All steps are sums, products, quotients and square roots of float64, each rounded as IEEE 754 says. So the numbers are a function of key, shape and
 * options alone, bit for bit on every device, and those of a longer shape begin with those of a shorter one. They are made on the host, some 60 ns
 * each, in slices between which the event loop runs, and uploaded.
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
  return pendingOf(async () => {
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
    const { words, number } = dtype === 'float64' ? DOUBLE : SINGLE;
    const scaled: Drawing = {
      words,
      number: (word, next) => mean + deviation * number(word, next),
    };
    return drawn<D>('normal', shape, { ...given, dtype }, scaled);
  });
}
