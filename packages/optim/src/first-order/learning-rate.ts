import { describeValue } from '@mercer/options';
import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { assertNotPreparing } from '@mercer/tensor/operation';

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

/** @throws MercerError INVALID_ARGUMENT where it is no number from 0 on */
export function checkNumber(value: unknown, what: string, name: string): number {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a finite number from 0 on.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT where it is not in [0, 1) */
export function checkFraction(value: unknown, what: string, name: string): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a number from 0 up to, but not, 1.`,
  );
}

/** The learning rate of a step, as a number of the host or a tensor. @throws MercerError INVALID_ARGUMENT where a schedule gives none; CAPTURED */
export function rateOf(rate: LearningRate, step: number, what: string): number | Tensor {
  if (typeof rate !== 'function') return rate;
  assertNotPreparing(`${what}: lr is a function of the step. Pass a 0-d tensor as lr`, 'counts');
  return checkNumber(rate(step), what, `lr(${step})`);
}
