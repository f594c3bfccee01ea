import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { assertNotPreparing } from '@mercer/tensor/operation';
import { checkNumber } from '../checks.js';

/** A learning rate: a number; a function of the step, which is 1 in the first call; or a 0-d tensor, which a prepared step reads anew each time. */
export type LearningRate = number | ((step: number) => number) | Tensor;

/** @throws MercerError INVALID_ARGUMENT */
export function checkLearningRate(rate: unknown, what: string): LearningRate {
  if (typeof rate === 'function') return rate as (step: number) => number;
  if (isTensor(rate)) {
    if (rate.size === 1) return rate;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: lr is ${rate.label}. Pass a tensor of one element.`,
    );
  }
  return checkNumber(rate, what, 'lr');
}

/** What the header of a checkpoint says of it. */
export const toldRate = (rate: LearningRate): number | 'a function' | 'a tensor' =>
  typeof rate === 'number' ? rate : typeof rate === 'function' ? 'a function' : 'a tensor';

/** The learning rate of a step, as a number of the host or a tensor. @throws MercerError INVALID_ARGUMENT where a schedule gives none; CAPTURED */
export function rateOf(rate: LearningRate, step: number, what: string): number | Tensor {
  if (typeof rate !== 'function') return rate;
  assertNotPreparing(
    `${what}: lr, a function of the step (replays would read a 0-d tensor in its place),`,
    'counts',
  );
  return checkNumber(rate(step), what, `lr(${step})`);
}
