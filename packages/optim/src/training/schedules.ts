import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';

/** A learning rate by the step, which is 1 in the first call of an optimiser. */
export type Schedule = (step: number) => number;

/** The same rate always. */
function constant(rate: number): Schedule {
  finite('constant', 'the rate', rate);
  return () => rate;
}

/** Options of `schedules.linearWarmUp`. */
export interface WarmUpOptions {
  /** Steps in which the rate rises to that of step 1 of `then`, which it has in the last of them. */
  readonly steps: number;
  /** What follows: a rate, or a schedule. */
  readonly then: number | Schedule;
  /** Where it rises from; default 0. */
  readonly from?: number | undefined;
}

const WARM_UP_OPTIONS: OptionNames<WarmUpOptions> = { steps: true, then: true, from: true };

/** From `from` to the first rate of `then` in equal parts, and then as `then` says, whose step 1 is the last of the warm-up. */
function linearWarmUp(options: WarmUpOptions): Schedule {
  const what = 'linearWarmUp';
  const { steps, then, from = 0 } = readOptions(what, options, WARM_UP_OPTIONS);
  whole(what, 'steps', steps);
  finite(what, 'from', from);
  const after = typeof then === 'function' ? then : constant(then);
  return (step) =>
    step < steps ? from + ((after(1) - from) * step) / steps : after(step - steps + 1);
}

/** Options of `schedules.cosine`. */
export interface CosineOptions {
  /** The rate of step 1. */
  readonly peak: number;
  /** Steps until it is `end`, where it stays. */
  readonly steps: number;
  /** Default 0. */
  readonly end?: number | undefined;
}

const COSINE_OPTIONS: OptionNames<CosineOptions> = { peak: true, steps: true, end: true };

/** Half a cosine from `peak` to `end` (Loshchilov and Hutter 2017, without restarts): end + (peak - end) (1 + cos(pi (step - 1) / steps)) / 2. */
function cosine(options: CosineOptions): Schedule {
  const what = 'cosine';
  const { peak, steps, end = 0 } = readOptions(what, options, COSINE_OPTIONS);
  finite(what, 'peak', peak);
  whole(what, 'steps', steps);
  finite(what, 'end', end);
  return (step) =>
    end + ((peak - end) * (1 + Math.cos((Math.PI * Math.min(step - 1, steps)) / steps))) / 2;
}

/** Options of `schedules.steps`. */
export interface StepsOptions {
  readonly initial: number;
  /** Steps after which the rate is multiplied by `factor`, again and again. */
  readonly every: number;
  /** Default 0.1. */
  readonly factor?: number | undefined;
}

const STEPS_OPTIONS: OptionNames<StepsOptions> = { initial: true, every: true, factor: true };

/** initial factor^floor((step - 1) / every). */
function steps(options: StepsOptions): Schedule {
  const what = 'steps';
  const { initial, every, factor = 0.1 } = readOptions(what, options, STEPS_OPTIONS);
  finite(what, 'initial', initial);
  whole(what, 'every', every);
  finite(what, 'factor', factor);
  return (step) => initial * factor ** Math.floor((step - 1) / every);
}

/** Options of `schedules.exponential`. */
export interface ExponentialOptions {
  readonly initial: number;
  /** What each step multiplies the rate by. */
  readonly factor: number;
}

const EXPONENTIAL_OPTIONS: OptionNames<ExponentialOptions> = { initial: true, factor: true };

/** initial factor^(step - 1). */
function exponential(options: ExponentialOptions): Schedule {
  const what = 'exponential';
  const { initial, factor } = readOptions(what, options, EXPONENTIAL_OPTIONS);
  finite(what, 'initial', initial);
  finite(what, 'factor', factor);
  return (step) => initial * factor ** (step - 1);
}

/** @throws MercerError INVALID_ARGUMENT */
function finite(what: string, name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `schedules.${what}: ${name} is ${describeValue(value)}. Pass a finite number from 0 on.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function whole(what: string, name: string, value: unknown): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `schedules.${what}: ${name} is ${describeValue(value)}. Pass a whole number from 1 on.`,
  );
}

/**
 * Learning rates as functions of the step: pass one as `lr`.
 *
 * ```ts
 * import { adam, schedules } from '@mercer/optim';
 *
 * const lr = schedules.linearWarmUp({ steps: 10, then: schedules.cosine({ peak: 0.1, steps: 90 }) });
 * console.log(lr(5), lr(10), lr(100).toFixed(3)); // 0.05 0.1 0.000
 * const optimiser = adam({ lr });
 * ```
 *
 * Each throws MercerError INVALID_ARGUMENT for what is no rate and no count of steps.
 */
export const schedules = { constant, linearWarmUp, cosine, steps, exponential } as const;
