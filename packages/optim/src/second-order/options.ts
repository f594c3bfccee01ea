import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { checkCount } from '../checks.js';

/** Steps from one refresh to the next, or `manual`: a refresh is a call of the optimiser's `refresh`. */
export type Frequency = number | 'manual';

/** @throws MercerError INVALID_ARGUMENT */
export function checkFrequency(value: unknown, what: string): Frequency {
  if (value === 'manual') return value;
  if (typeof value === 'number') return checkCount(value, what, 'frequency');
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: frequency is ${describeValue(value)}. Pass a whole number of at least 1, or 'manual'.`,
  );
}

/** The step of the first refresh; 0 where none is counted. @throws MercerError INVALID_ARGUMENT */
export function checkStart(
  value: unknown,
  what: string,
  frequency: Frequency,
  otherwise?: number,
): number {
  if (frequency !== 'manual') return checkCount(value ?? otherwise ?? frequency, what, 'start');
  if (value === undefined) return 0;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: start is ${describeValue(value)} and frequency 'manual': the first refresh is the first call of refresh(). Leave start away.`,
  );
}

/** Steps between a refresh's begin and its effect. @throws MercerError INVALID_ARGUMENT where refreshes would overtake each other */
export function checkDelay(value: unknown, what: string, frequency: Frequency): number {
  const delay = checkCount(value ?? 0, what, 'delay', 0);
  if (frequency === 'manual' && delay > 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: delay is ${delay} and frequency 'manual': a refresh takes effect when refresh() has resolved. Leave delay away, or pass a number of steps as frequency.`,
    );
  }
  if (frequency === 'manual' || delay <= frequency) return delay;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: delay is ${delay} and frequency ${frequency}: a refresh would begin before the last one takes effect. Pass a delay of at most the frequency.`,
  );
}
