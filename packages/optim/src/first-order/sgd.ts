import { add, le, mul, select, sub, variable } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import { isTensor, MercerError } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkNumber, checkFraction, checkFlag } from '../checks.js';
import { COMMON_OPTIONS, optimiserOf, readSettings, type CommonOptions } from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { StepNumbers } from '../rule.js';
import { elementwise } from './elementwise.js';
import { checkLearningRate, rateOf, toldRate, type LearningRate } from './learning-rate.js';

/** Options of {@link sgd}. */
export interface SgdOptions extends CommonOptions {
  /** Default 1e-3. */
  readonly lr?: LearningRate | undefined;
  /** Default 0. */
  readonly momentum?: number | undefined;
  /** How much less a gradient adds to the momentum, but for the first; default 0. */
  readonly dampening?: number | undefined;
  /** Default false. */
  readonly nesterov?: boolean | undefined;
  /** Adds this times the parameter to the gradient, or with `decoupled` takes lr times this off the parameter; default 0. */
  readonly weightDecay?: number | undefined;
  /** Default false. */
  readonly decoupled?: boolean | undefined;
}

const SGD_OPTIONS: OptionNames<SgdOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  momentum: true,
  dampening: true,
  nesterov: true,
  weightDecay: true,
  decoupled: true,
};

const [p, g, m] = [variable('p'), variable('g'), variable('m')];
const [momentum, decay] = [variable('momentum'), variable('weightDecay')];
const [rate, share, shrink] = [variable('rate'), variable('share'), variable('shrink')];

const [t, lr] = [variable('t'), variable('lr')];
const NUMBERS = {
  rate: lr,
  // the first momentum is the gradient itself
  share: select(le(t, 1), 1, sub(1, variable('dampening'))),
  shrink: sub(1, mul(lr, decay)),
};

/**
 * Stochastic gradient descent: v = momentum v + (1 - dampening) g, p = p - lr v; with `nesterov` p = p - lr (g + momentum v). The first v is g
 * (Sutskever et al. 2013, in the form of torch).
 *
 * ```ts
 * import { sgd } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const params = { w: await tensor([1, 2], { device: 'cpu' }) };
 * const optimiser = sgd({ lr: 0.5, momentum: 0.9 });
 * using state = await optimiser.init(params);
 * await optimiser.step(params, { w: await tensor([1, -1], { device: 'cpu' }) }, state);
 * console.log(await params.w.toNested()); // [ 0.5, 2.5 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps OptimError NOT_FINITE, WRONG_STATE, and MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function sgd(options?: SgdOptions): Optimiser {
  const what = 'sgd';
  const given = readOptions(what, options, SGD_OPTIONS);
  const rateGiven = checkLearningRate(given.lr ?? 1e-3, what);
  const mu = checkFraction(given.momentum ?? 0, what, 'momentum');
  const dampening = checkNumber(given.dampening ?? 0, what, 'dampening');
  const weightDecay = checkNumber(given.weightDecay ?? 0, what, 'weightDecay');
  const nesterov = checkFlag(given.nesterov ?? false, what, 'nesterov');
  const decoupled = checkFlag(given.decoupled ?? false, what, 'decoupled');
  if (nesterov && (mu === 0 || dampening !== 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: nesterov with momentum ${mu} and dampening ${dampening}. Pass a momentum, and no dampening.`,
    );
  }
  const gradient = weightDecay > 0 && !decoupled ? add(g, mul(decay, p)) : g;
  const from = weightDecay > 0 && decoupled ? mul(p, shrink) : p;
  const next = add(mul(momentum, m), mul(share, gradient));
  const along = mu === 0 ? gradient : nesterov ? add(gradient, mul(momentum, next)) : next;
  const moved = { p: sub(from, mul(rate, along)) };
  const numbers = (step: number): StepNumbers => {
    const now = rateOf(rateGiven, step, what);
    const parameters = { dampening, weightDecay };
    return isTensor(now)
      ? { formulas: NUMBERS, parameters, inputs: { lr: now } }
      : { formulas: NUMBERS, parameters: { ...parameters, lr: now } };
  };
  const rule = elementwise({
    name: what,
    options: { lr: toldRate(rateGiven), momentum: mu, dampening, nesterov, weightDecay, decoupled },
    slots: mu === 0 ? [] : ['m'],
    formulas: mu === 0 ? moved : { ...moved, m: next },
    parameters: { momentum: mu, weightDecay },
    numbers,
  });
  return optimiserOf(rule, readSettings(given, what));
}
