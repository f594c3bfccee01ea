import type { OptionNames } from '@mercer/options';
import { checkCount, checkFlag, checkFraction, checkNumber } from '../checks.js';
import { checkBetas } from '../first-order/adam.js';
import { checkLearningRate, toldRate, type LearningRate } from '../first-order/learning-rate.js';
import { COMMON_OPTIONS, type CommonOptions } from '../optimiser-of.js';
import { checkDelay, checkFrequency, type Frequency } from './options.js';

/** Options of `soap`. */
export interface SoapOptions extends CommonOptions {
  /** Default 3e-3. */
  readonly lr?: LearningRate | undefined;
  /** Of the mean of gradients and of their squares; default [0.95, 0.95]. */
  readonly betas?: readonly [number, number] | undefined;
  /** Of the factors; default: the second of `betas`. */
  readonly factorBeta?: number | undefined;
  /** Default 1e-8. */
  readonly eps?: number | undefined;
  /** Takes lr times this off the parameter; default 1e-2. */
  readonly weightDecay?: number | undefined;
  /**
   * Steps from one refresh of the bases to the next, default 10; or `manual`: a refresh is a call of `refresh`, and steps can be captured by `prepare`. The bases, of which the first step has
   * exact ones otherwise, are there behind the first call: call it behind the first step.
   */
  readonly frequency?: number | 'manual' | undefined;
  /** Steps after which a refresh takes effect, at most `frequency`; it is computed beside them. 0 (default): in its own step, which waits for it. The first is always. */
  readonly delay?: number | undefined;
  /** QR iterations of a refresh; default 1. */
  readonly iterations?: number | undefined;
  /** A longer axis is not rotated; default 10000. */
  readonly maxDim?: number | undefined;
  /** Whether small axes are merged while their product is at most `maxDim`; default false. */
  readonly mergeDims?: boolean | undefined;
  /** Whether parameters of one axis are rotated too; default false. */
  readonly vectors?: boolean | undefined;
}

export const SOAP_OPTIONS: OptionNames<SoapOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  betas: true,
  factorBeta: true,
  eps: true,
  weightDecay: true,
  frequency: true,
  delay: true,
  iterations: true,
  maxDim: true,
  mergeDims: true,
  vectors: true,
};

const what = 'soap';

/** Options that were read. */
export interface SoapSettings {
  readonly rate: LearningRate;
  readonly beta1: number;
  readonly beta2: number;
  readonly factorBeta: number;
  readonly eps: number;
  readonly weightDecay: number;
  readonly frequency: Frequency;
  readonly delay: number;
  readonly iterations: number;
  readonly maxDim: number;
  readonly mergeDim: number;
  readonly vectors: boolean;
}

/** @throws MercerError INVALID_ARGUMENT */
export function readSoap(given: SoapOptions): SoapSettings {
  const [beta1, beta2] = checkBetas(given.betas ?? [0.95, 0.95], what);
  const frequency = checkFrequency(given.frequency ?? 10, what);
  const maxDim = checkCount(given.maxDim ?? 10000, what, 'maxDim');
  return {
    rate: checkLearningRate(given.lr ?? 3e-3, what),
    beta1,
    beta2,
    factorBeta: checkFraction(given.factorBeta ?? beta2, what, 'factorBeta'),
    eps: checkNumber(given.eps ?? 1e-8, what, 'eps'),
    weightDecay: checkNumber(given.weightDecay ?? 1e-2, what, 'weightDecay'),
    frequency,
    delay: checkDelay(given.delay, what, frequency),
    iterations: checkCount(given.iterations ?? 1, what, 'iterations'),
    maxDim,
    mergeDim: checkFlag(given.mergeDims ?? false, what, 'mergeDims') ? maxDim : 0,
    vectors: checkFlag(given.vectors ?? false, what, 'vectors'),
  };
}

/** All options, as they are named. */
export const toldSoap = ({ rate, beta1, beta2, mergeDim, ...others }: SoapSettings) => ({
  ...others,
  lr: toldRate(rate),
  betas: [beta1, beta2],
  mergeDims: mergeDim > 0,
});
