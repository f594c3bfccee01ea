import type { OptionNames } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { checkChoice, checkFlag, checkFraction, checkNumber } from '../checks.js';
import { checkLearningRate, toldRate, type LearningRate } from '../first-order/learning-rate.js';
import { COMMON_OPTIONS, type CommonOptions } from '../optimiser-of.js';
import { checkDelay, checkFrequency, checkStart, type Frequency } from './options.js';

/** Options of `kfac`. */
export interface KfacOptions extends CommonOptions {
  /** Default 1e-2. */
  readonly lr?: LearningRate | undefined;
  /** What is added to the curvature, more than 0; default 1e-3. A larger lr wants a larger damping. */
  readonly damping?: number | undefined;
  /**
   * Whether damping follows how well the quadratic model tells the loss, every 5 steps (Martens and Grosse 2015, section 6.5): steps then need `value`, and compare it with
   * `evaluate(params)`, or without it with the next step's value. The model knows of the layers' steps alone, and of the gradient with the weight decay in it: the losses also change by the steps
   * of `plain` parameters, and have no term for the weight decay unless the function adds one, so that with either the damping follows less well. Default false.
   */
  readonly adaptiveDamping?: boolean | undefined;
  /** What adaptive damping does not go below; default 1e-8. */
  readonly minDamping?: number | undefined;
  /** Of the means of factors; default 0.95. */
  readonly factorBeta?: number | undefined;
  /**
   * Steps from one refresh of the inverses to the next, default 5; or `manual`, not with adaptive damping: a refresh is a call of `refresh`, and steps can be captured by `prepare`. Parameters
   * stay as they are before the first.
   */
  readonly frequency?: number | 'manual' | undefined;
  /** The step of the first refresh; before it takes effect parameters stay as they are, and factors are gathered. Default 1. */
  readonly start?: number | undefined;
  /** Steps after which a refresh takes effect, at most `frequency`; it is computed beside them. 0 (default): in its own step. */
  readonly delay?: number | undefined;
  /** `factored` (default): inverses of both factors, each with its share of the damping; `exact`: their eigenbases, in which all of it is added to the products of eigenvalues. */
  readonly inverse?: 'factored' | 'exact' | undefined;
  /** The most that `lr² ∇·u` may be, u being the step: it is shortened where it is more. Default: no limit. */
  readonly normConstraint?: number | undefined;
  /** Of the steps; default 0; not with adaptive damping. */
  readonly momentum?: number | undefined;
  /** Adds this times the parameter to the gradient; default 0. */
  readonly weightDecay?: number | undefined;
  /** Paths of parameters without statistics, such as embeddings and scales: they take steps of lr along the gradient. Default: none. */
  readonly plain?: readonly string[] | undefined;
}

export const KFAC_OPTIONS: OptionNames<KfacOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  damping: true,
  adaptiveDamping: true,
  minDamping: true,
  factorBeta: true,
  frequency: true,
  start: true,
  delay: true,
  inverse: true,
  normConstraint: true,
  momentum: true,
  weightDecay: true,
  plain: true,
};

const what = 'kfac';

/** Options that were read. */
export interface KfacSettings {
  readonly rate: LearningRate;
  readonly damping: number;
  readonly isAdaptive: boolean;
  readonly minDamping: number;
  readonly beta: number;
  readonly frequency: Frequency;
  readonly start: number;
  readonly delay: number;
  readonly isExact: boolean;
  readonly normConstraint: number | undefined;
  readonly momentum: number;
  readonly weightDecay: number;
  readonly plain: ReadonlySet<string>;
}

/** @throws MercerError INVALID_ARGUMENT */
export function readKfac(given: KfacOptions): KfacSettings {
  const positive = (name: 'damping' | 'minDamping' | 'normConstraint', value: number): number => {
    if (checkNumber(value, what, name) > 0) return value;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is 0. Pass a number that is more than 0.`,
    );
  };
  const frequency = checkFrequency(given.frequency ?? 5, what);
  const isAdaptive = checkFlag(given.adaptiveDamping ?? false, what, 'adaptiveDamping');
  const momentum = checkFraction(given.momentum ?? 0, what, 'momentum');
  if (isAdaptive && momentum > 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: adaptiveDamping with momentum ${momentum}, of whose steps the quadratic model says nothing. Leave one of them away.`,
    );
  }
  if (isAdaptive && frequency === 'manual') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: adaptiveDamping with frequency 'manual': the damping adapts every 5 steps, which are counted. Leave adaptiveDamping away, or pass a number of steps as frequency.`,
    );
  }
  const { plain = [] } = given;
  if (!Array.isArray(plain) || !plain.every((one) => typeof one === 'string')) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: plain is no list of paths. Pass paths of parameters, such as ['embedding.weight'].`,
    );
  }
  return {
    rate: checkLearningRate(given.lr ?? 1e-2, what),
    damping: positive('damping', given.damping ?? 1e-3),
    isAdaptive,
    minDamping: positive('minDamping', given.minDamping ?? 1e-8),
    beta: checkFraction(given.factorBeta ?? 0.95, what, 'factorBeta'),
    frequency,
    start: checkStart(given.start, what, frequency, 1),
    delay: checkDelay(given.delay, what, frequency),
    isExact:
      checkChoice(given.inverse ?? 'factored', what, 'inverse', ['factored', 'exact']) === 'exact',
    normConstraint:
      given.normConstraint === undefined
        ? undefined
        : positive('normConstraint', given.normConstraint),
    momentum,
    weightDecay: checkNumber(given.weightDecay ?? 0, what, 'weightDecay'),
    plain: new Set(plain as readonly string[]),
  };
}

/** All options, as they are named. */
export const toldKfac = ({ rate, isAdaptive, beta, isExact, plain, ...others }: KfacSettings) => ({
  ...others,
  lr: toldRate(rate),
  adaptiveDamping: isAdaptive,
  factorBeta: beta,
  inverse: isExact ? 'exact' : 'factored',
  plain: [...plain],
});
