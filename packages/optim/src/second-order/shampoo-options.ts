import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { checkChoice, checkCount, checkFlag, checkFraction, checkNumber } from '../checks.js';
import { checkLearningRate, toldRate, type LearningRate } from '../first-order/learning-rate.js';
import { COMMON_OPTIONS, type CommonOptions } from '../optimiser-of.js';
import { checkDelay, checkFrequency, checkStart, type Frequency } from './options.js';
import type { RootMethod } from './roots.js';

/** Whose step gives each block its length. */
export type Grafting = 'none' | 'sgd' | 'adagrad' | 'rmsprop' | 'adam';

/** How inverse roots are computed: exactly, by products (see `matrixPower`), or from eigenvectors that follow by QR iterations. */
export type RootOption = 'eigh' | 'newton' | 'higherOrder' | 'qr';

/** Options of {@link shampoo}. */
export interface ShampooOptions extends CommonOptions {
  /** Default 1e-2. */
  readonly lr?: LearningRate | undefined;
  /** Of the mean of gradients, 0 for none, and of the factors, 1 for their sum; default [0.9, 1]. */
  readonly betas?: readonly [number, number] | undefined;
  /** Of the mean of gradients and the last one that is used; default: the first of `betas`. */
  readonly beta3?: number | undefined;
  /**
   * What is added to the factors' diagonals; default 1e-12. In float32, and where roots are computed by products ('newton', 'higherOrder'), it is at least 100 roundings of the largest row sum of the factor,
   * which bounds its eigenvalues: 1.2e-5 of it in float32. With less, rounding decides whether there is a root.
   */
  readonly eps?: number | undefined;
  /** The most that an axis of a block has: larger ones are cut; default 1024. */
  readonly maxDim?: number | undefined;
  /** Whether small axes are merged while their product is at most `maxDim`; default true. */
  readonly mergeDims?: boolean | undefined;
  /** Steps from one refresh of the roots to the next, default 1; or `manual`: a refresh is a call of `refresh`, and steps can be captured by `prepare`. */
  readonly frequency?: number | 'manual' | undefined;
  /** The step of the first refresh; before it takes effect, the grafted step alone is taken. Default: `frequency`. */
  readonly start?: number | undefined;
  /** Steps after which a refresh takes effect, at most `frequency`; it is computed beside them. 0 (default): in its own step, which waits for it. */
  readonly delay?: number | undefined;
  /**
   * Whose step gives each block its length; default 'adam'. With 'none', directions of which the last refresh saw no gradient are multiplied by powers of 1 / `eps`: take a larger
   * `eps` then, or refresh at each step.
   */
  readonly grafting?: Grafting | undefined;
  /** Of the squares of gradients in grafting; default 0.99 of 'rmsprop', 0.999 of 'adam'. */
  readonly graftingBeta?: number | undefined;
  /** Default 1e-10. */
  readonly graftingEps?: number | undefined;
  /** Default 'eigh'. */
  readonly root?: RootOption | undefined;
  /** Steps of 'newton' and 'higherOrder'; default: as `matrixPower`, which suffices for the least that is added to a diagonal. */
  readonly rootSteps?: number | undefined;
  /** QR iterations of a refresh; default 1. */
  readonly iterations?: number | undefined;
  /** What roots are computed in; default: what the state is kept in. */
  readonly rootDType?: 'float32' | 'float64' | undefined;
  /**
   * How a GPU computes the products of float32 gradients with roots: 'float32' (default), or 'tf32' with factors rounded to 11 bits, which a direction hardly sees. Factors and
   * roots are computed in float32 either way.
   */
  readonly precision?: 'float32' | 'tf32' | undefined;
  /** Whether factors are divided by the roots of their traces; default false. */
  readonly traceScaling?: boolean | undefined;
  /** Of the steps; default 0. */
  readonly momentum?: number | undefined;
  /** How much less a step adds to the momentum; default 0. */
  readonly dampening?: number | undefined;
  /** Default false. */
  readonly nesterov?: boolean | undefined;
  /** Default 0. */
  readonly weightDecay?: number | undefined;
  /**
   * `decoupled` (default) adds `weightDecay` times the parameter to the step, which lr multiplies; `l2` adds it to the gradient; `corrected` is decoupled times `lr / peakLr`;
   * `independent` is decoupled divided by `peakLr`.
   */
  readonly decay?: 'decoupled' | 'l2' | 'corrected' | 'independent' | undefined;
  /** The largest learning rate of a schedule, for `decay`; default: lr, where it is a number. */
  readonly peakLr?: number | undefined;
}

export const SHAMPOO_OPTIONS: OptionNames<ShampooOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  betas: true,
  beta3: true,
  eps: true,
  maxDim: true,
  mergeDims: true,
  frequency: true,
  start: true,
  delay: true,
  grafting: true,
  graftingBeta: true,
  graftingEps: true,
  root: true,
  rootSteps: true,
  iterations: true,
  rootDType: true,
  precision: true,
  traceScaling: true,
  momentum: true,
  dampening: true,
  nesterov: true,
  weightDecay: true,
  decay: true,
  peakLr: true,
};

const what = 'shampoo';
const PRECISIONS = ['float32', 'tf32'] as const;
const GRAFTINGS = ['none', 'sgd', 'adagrad', 'rmsprop', 'adam'] as const;

/** Options that were read. */
export interface ShampooSettings {
  readonly rate: LearningRate;
  readonly beta1: number;
  readonly beta2: number;
  readonly beta3: number;
  readonly maxDim: number;
  readonly mergeDim: number;
  readonly frequency: Frequency;
  readonly start: number;
  readonly delay: number;
  readonly grafting: Grafting;
  readonly graftingBeta: number;
  readonly graftingEps: number;
  readonly how: RootMethod;
  readonly rootDType: 'float32' | 'float64' | undefined;
  readonly precision: 'float32' | 'tf32';
  readonly traceScaling: boolean;
  readonly momentum: number;
  readonly dampening: number;
  readonly nesterov: boolean;
  readonly weightDecay: number;
  readonly decay: 'decoupled' | 'l2' | 'corrected' | 'independent';
  readonly peakLr: number;
}

/** All options, as they are named. */
export const toldShampoo = (read: ShampooSettings): Readonly<Record<string, unknown>> => {
  const { rate, beta1, beta2, mergeDim, how, ...others } = read;
  const { method, eps, steps, iterations } = how;
  return {
    ...others,
    lr: toldRate(rate),
    betas: [beta1, beta2],
    mergeDims: mergeDim > 0,
    root: method,
    eps,
    rootSteps: steps,
    iterations,
  };
};

/** @throws MercerError INVALID_ARGUMENT */
export function readShampoo(given: ShampooOptions): ShampooSettings {
  const { grafting = 'adam', root = 'eigh', decay = 'decoupled' } = given;
  const [first, beta2] = pairOf(given.betas ?? [0.9, 1]);
  const beta1 = checkFraction(first, what, 'betas[0]');
  const maxDim = checkCount(given.maxDim ?? 1024, what, 'maxDim');
  const frequency = checkFrequency(given.frequency ?? 1, what);
  const method = checkChoice(root, what, 'root', ['eigh', 'newton', 'higherOrder', 'qr']);
  const kind = checkChoice(grafting, what, 'grafting', GRAFTINGS);
  const rate = checkLearningRate(given.lr ?? 1e-2, what);
  const weightDecay = checkNumber(given.weightDecay ?? 0, what, 'weightDecay');
  const momentum = checkFraction(given.momentum ?? 0, what, 'momentum');
  const dampening = checkFraction(given.dampening ?? 0, what, 'dampening');
  const nesterov = checkFlag(given.nesterov ?? false, what, 'nesterov');
  if (nesterov && (momentum === 0 || dampening !== 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: nesterov with momentum ${momentum} and dampening ${dampening}. Pass a momentum, and no dampening.`,
    );
  }
  const byProducts = method === 'newton' || method === 'higherOrder';
  if (given.rootSteps !== undefined && !byProducts) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rootSteps with root '${method}', which has none. Leave it away, or pass root 'newton' or 'higherOrder'.`,
    );
  }
  const decays = checkChoice(decay, what, 'decay', ['decoupled', 'l2', 'corrected', 'independent']);
  const needsPeak = weightDecay > 0 && (decays === 'corrected' || decays === 'independent');
  const peak = given.peakLr ?? (typeof rate === 'number' ? rate : undefined);
  if (needsPeak && !(typeof peak === 'number' && peak > 0 && peak < Infinity)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: peakLr is ${describeValue(peak)} with decay '${decays}'. Pass the largest learning rate of the schedule.`,
    );
  }
  return {
    rate,
    beta1,
    beta2: checkNumber(beta2, what, 'betas[1]', 0, 1),
    beta3: beta1 === 0 ? 0 : checkFraction(given.beta3 ?? beta1, what, 'beta3'),
    maxDim,
    mergeDim: checkFlag(given.mergeDims ?? true, what, 'mergeDims') ? maxDim : 0,
    frequency,
    start: checkStart(given.start, what, frequency),
    delay: checkDelay(given.delay, what, frequency),
    grafting: kind,
    graftingBeta: checkFraction(
      given.graftingBeta ?? (kind === 'adam' ? 0.999 : 0.99),
      what,
      'graftingBeta',
    ),
    graftingEps: checkNumber(given.graftingEps ?? 1e-10, what, 'graftingEps'),
    how: {
      method,
      eps: checkNumber(given.eps ?? 1e-12, what, 'eps'),
      steps:
        given.rootSteps === undefined ? undefined : checkCount(given.rootSteps, what, 'rootSteps'),
      iterations: checkCount(given.iterations ?? 1, what, 'iterations'),
    },
    rootDType:
      given.rootDType === undefined
        ? undefined
        : checkChoice(given.rootDType, what, 'rootDType', ['float32', 'float64'] as const),
    precision: checkChoice(given.precision ?? 'float32', what, 'precision', PRECISIONS),
    traceScaling: checkFlag(given.traceScaling ?? false, what, 'traceScaling'),
    momentum,
    dampening,
    nesterov,
    weightDecay,
    decay: decays,
    peakLr: typeof peak === 'number' && peak > 0 ? peak : 1,
  };
}

/** @throws MercerError INVALID_ARGUMENT */
function pairOf(betas: unknown): readonly unknown[] {
  if (Array.isArray(betas) && betas.length === 2) return betas;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: betas is ${describeValue(betas)}. Pass two numbers, such as [0.9, 1].`,
  );
}
