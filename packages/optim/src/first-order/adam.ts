import { add, div, mul, pow, sqrt, sub, variable } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { isTensor, MercerError } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkNumber, checkFraction, checkFlag } from '../checks.js';
import { COMMON_OPTIONS, optimiserOf, readSettings, type CommonOptions } from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { StepNumbers } from '../rule.js';
import { elementwise } from './elementwise.js';
import { checkLearningRate, rateOf, toldRate, type LearningRate } from './learning-rate.js';

/** Options of {@link adam} and {@link adamW}. */
export interface AdamOptions extends CommonOptions {
  /** Default 1e-3. */
  readonly lr?: LearningRate | undefined;
  /** Of the mean of gradients and of their squares; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number] | undefined;
  /** Default 1e-8. */
  readonly eps?: number | undefined;
  /** Adds this times the parameter to the gradient, or with `decoupled` takes lr times this off the parameter. Default 0; of adamW 1e-2. */
  readonly weightDecay?: number | undefined;
  /** Default false; of adamW true. */
  readonly decoupled?: boolean | undefined;
}

const ADAM_OPTIONS: OptionNames<AdamOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  betas: true,
  eps: true,
  weightDecay: true,
  decoupled: true,
};

const [p, g, m, v] = [variable('p'), variable('g'), variable('m'), variable('v')];
const [beta1, beta2, eps] = [variable('beta1'), variable('beta2'), variable('eps')];
const [decay, shrink] = [variable('weightDecay'), variable('shrink')];
const [t, lr] = [variable('t'), variable('lr')];

const NUMBERS = {
  rate: div(lr, sub(1, pow(beta1, t))),
  unbias: div(1, sqrt(sub(1, pow(beta2, t)))),
  shrink: sub(1, mul(lr, decay)),
};

function formulasOf(weightDecay: number, decoupled: boolean) {
  const gradient = weightDecay > 0 && !decoupled ? add(g, mul(decay, p)) : g;
  const from = weightDecay > 0 && decoupled ? mul(p, shrink) : p;
  const first = add(mul(beta1, m), mul(sub(1, beta1), gradient));
  const second = add(mul(beta2, v), mul(sub(1, beta2), mul(gradient, gradient)));
  const length = add(mul(sqrt(second), variable('unbias')), eps);
  return { p: sub(from, div(mul(variable('rate'), first), length)), m: first, v: second };
}

function adamOf(
  what: string,
  options: AdamOptions | undefined,
  byDefault: { weightDecay: number; decoupled: boolean },
): Optimiser {
  const given = readOptions(what, options, ADAM_OPTIONS);
  const rate = checkLearningRate(given.lr ?? 1e-3, what);
  const [b1, b2] = checkBetas(given.betas ?? [0.9, 0.999], what);
  const epsilon = checkNumber(given.eps ?? 1e-8, what, 'eps');
  const weightDecay = checkNumber(given.weightDecay ?? byDefault.weightDecay, what, 'weightDecay');
  const decoupled = checkFlag(given.decoupled ?? byDefault.decoupled, what, 'decoupled');
  const parameters = { beta1: b1, beta2: b2, weightDecay };
  const numbers = (step: number): StepNumbers => {
    const now = rateOf(rate, step, what);
    return isTensor(now)
      ? { formulas: NUMBERS, parameters, inputs: { lr: now } }
      : { formulas: NUMBERS, parameters: { ...parameters, lr: now } };
  };
  const rule = elementwise({
    name: what,
    options: { lr: toldRate(rate), betas: [b1, b2], eps: epsilon, weightDecay, decoupled },
    slots: ['m', 'v'],
    formulas: formulasOf(weightDecay, decoupled),
    parameters: { beta1: b1, beta2: b2, eps: epsilon, weightDecay },
    numbers,
  });
  return optimiserOf(rule, readSettings(given, what));
}

/**
 * Adam (Kingma and Ba 2015): m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, p = p - lr m^ / (sqrt(v^) + eps), where m^ and v^ are divided by 1 - beta^t, t the count of
 * steps that were taken.
 *
 * ```ts
 * import { adam } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const params = { w: await tensor([1, 2], { device: 'cpu' }) };
 * const optimiser = adam({ lr: 0.5, eps: 0 });
 * using state = await optimiser.init(params);
 * await optimiser.step(params, { w: await tensor([1, -4], { device: 'cpu' }) }, state);
 * console.log(await params.w.toNested()); // [ 0.5, 2.5 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`
 */
export function adam(options?: AdamOptions): Optimiser {
  return adamOf('adam', options, { weightDecay: 0, decoupled: false });
}

/** Adam with decoupled weight decay (Loshchilov and Hutter 2019), 1e-2 by default: p = p - lr weightDecay p before the step of {@link adam}. */
export function adamW(options?: AdamOptions): Optimiser {
  return adamOf('adamW', options, { weightDecay: 1e-2, decoupled: true });
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkBetas(betas: unknown, what: string): readonly [number, number] {
  if (!Array.isArray(betas) || betas.length !== 2) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: betas is ${describeValue(betas)}. Pass two numbers, such as [0.9, 0.999].`,
    );
  }
  return [checkFraction(betas[0], what, 'betas[0]'), checkFraction(betas[1], what, 'betas[1]')];
}
