import { MercerError } from '@mercer/tensor';
import { checkCount } from '../checks.js';

/** Steps between a refresh's begin and its effect. @throws MercerError INVALID_ARGUMENT where refreshes would overtake each other */
export function checkDelay(value: unknown, what: string, frequency: number): number {
  const delay = checkCount(value, what, 'delay', 0);
  if (delay <= frequency) return delay;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: delay is ${delay} and frequency ${frequency}: a refresh would begin before the last one takes effect. Pass a delay of at most the frequency.`,
  );
}
