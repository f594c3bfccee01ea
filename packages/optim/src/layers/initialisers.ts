/**
 * Initialisers: what parameters begin with.
 *
 * @packageDocumentation
 */
import { describeValue, type OptionNames } from '@mercer/options';
import { full, MercerError, random, tensor } from '@mercer/tensor';
import { givesPending, readOptions, sizeOfShape } from '@mercer/tensor/operation';
import { checkNumber, checkChoice } from '../checks.js';
import { fansOf, normalBy, uniformBy, type OwnInitialiser, type Shape } from './initialiser.js';
import { readPlacement } from './layer.js';

export type { Initialiser } from './initialiser.js';

/** Options of {@link kaimingUniform} and {@link kaimingNormal}. */
export interface KaimingOptions {
  /** `'fanIn'` keeps the variance of values, `'fanOut'` that of gradients. Default: 'fanIn'. */
  readonly mode?: 'fanIn' | 'fanOut' | undefined;
  /** The slope of the leaky ReLU that follows; 0 for ReLU. Default: 0. */
  readonly slope?: number | undefined;
}

const KAIMING: OptionNames<KaimingOptions> = { mode: true, slope: true };

/** The standard deviation, as a function of the shape. */
function kaiming(what: string, given: KaimingOptions | undefined): (shape: Shape) => number {
  const { mode = 'fanIn', slope = 0 } = readOptions(what, given, KAIMING);
  checkChoice(mode, what, 'mode', ['fanIn', 'fanOut']);
  checkNumber(slope, what, 'slope', 0);
  return (shape) => Math.sqrt(2 / ((1 + slope ** 2) * fansOf(shape)[mode]));
}

/** Uniform within `sqrt(6 / ((1 + slope^2) fan))` (He et al. 2015, arXiv 1502.01852). */
export const kaimingUniform = (options?: KaimingOptions): OwnInitialiser =>
  uniformBy('kaimingUniform', kaiming('kaimingUniform', options));

/** Normal with the deviation `sqrt(2 / ((1 + slope^2) fan))` (He et al. 2015). */
export const kaimingNormal = (options?: KaimingOptions): OwnInitialiser =>
  normalBy('kaimingNormal', kaiming('kaimingNormal', options));

/** Options of {@link xavierUniform} and {@link xavierNormal}. */
export interface XavierOptions {
  /** A factor of the deviation. Default: 1. */
  readonly gain?: number | undefined;
}

const XAVIER: OptionNames<XavierOptions> = { gain: true };

function xavier(what: string, given: XavierOptions | undefined): (shape: Shape) => number {
  const { gain = 1 } = readOptions(what, given, XAVIER);
  checkNumber(gain, what, 'gain', 0);
  return (shape) => {
    const { fanIn, fanOut } = fansOf(shape);
    return gain * Math.sqrt(2 / (fanIn + fanOut));
  };
}

/** Uniform within `gain sqrt(6 / (fanIn + fanOut))` (Glorot and Bengio 2010). */
export const xavierUniform = (options?: XavierOptions): OwnInitialiser =>
  uniformBy('xavierUniform', xavier('xavierUniform', options));

/** Normal with the deviation `gain sqrt(2 / (fanIn + fanOut))` (Glorot and Bengio 2010). */
export const xavierNormal = (options?: XavierOptions): OwnInitialiser =>
  normalBy('xavierNormal', xavier('xavierNormal', options));

/** Options of {@link truncatedNormal}. */
export interface TruncatedNormalOptions {
  /** Default: 0. */
  readonly mean?: number | undefined;
  /** The deviation of the normal distribution before it is cut. Default: 1. */
  readonly deviation?: number | undefined;
  /** Where it is cut, in deviations from the mean, on both sides. Default: 2. */
  readonly limit?: number | undefined;
}

const TRUNCATED: OptionNames<TruncatedNormalOptions> = { mean: true, deviation: true, limit: true };

/** Normal numbers of which those beyond the limit were drawn again. */
export function truncatedNormal(options?: TruncatedNormalOptions): OwnInitialiser {
  const what = 'truncatedNormal';
  const { mean = 0, deviation = 1, limit = 2 } = readOptions(what, options, TRUNCATED);
  checkNumber(mean, what, 'mean', -Number.MAX_VALUE);
  checkNumber(deviation, what, 'deviation', 0);
  checkNumber(limit, what, 'limit', 0.1);
  return givesPending(async (key, shape, placement) => {
    const { device, dtype } = readPlacement(what, placement);
    const kept = new Float64Array(sizeOfShape(shape));
    let count = 0;
    for (let round = 0; count < kept.length; round++) {
      // enough for nearly all rounds to be the last one at the default limit
      const wanted = Math.ceil((kept.length - count) * 1.2) + 16;
      using drawn = await random.normal([wanted], {
        key: random.foldIn(key, round),
        dtype: 'float64',
        device: 'cpu',
      });
      for (const z of await drawn.toTypedArray()) {
        if (Math.abs(z) <= limit && count < kept.length) kept[count++] = mean + deviation * z;
      }
    }
    return tensor(kept, { shape, dtype, device });
  });
}

/** All elements one number. */
export function constant(value: number): OwnInitialiser {
  if (typeof value !== 'number') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `constant: the value is ${describeValue(value)}. Pass a number.`,
    );
  }
  return givesPending(async (_key, shape, placement) =>
    full(shape, value, readPlacement('constant', placement) as { dtype: 'float32' }),
  );
}

/** All elements 0. */
export const zeros = (): OwnInitialiser => constant(0);

/** All elements 1. */
export const ones = (): OwnInitialiser => constant(1);
