import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';

/** @throws MercerError INVALID_ARGUMENT */
export function checkCount(value: unknown, what: string, name: string, least = 1): number {
  if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass an integer from ${least} on.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkChoice<T extends string>(
  value: unknown,
  what: string,
  name: string,
  choices: readonly T[],
): T {
  if ((choices as readonly unknown[]).includes(value)) return value as T;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass ${choices.map((one) => `'${one}'`).join(' or ')}.`,
  );
}

/** A share in [0, 1], of which 1 means that a sum is kept and no mean. @throws MercerError INVALID_ARGUMENT */
export function checkShare(value: unknown, what: string, name: string): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a number from 0 to 1.`,
  );
}

/** Steps between a refresh's begin and its effect. @throws MercerError INVALID_ARGUMENT where refreshes would overtake each other */
export function checkDelay(value: unknown, what: string, frequency: number): number {
  const delay = checkCount(value, what, 'delay', 0);
  if (delay <= frequency) return delay;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: delay is ${delay} and frequency ${frequency}: a refresh would begin before the last one takes effect. Pass a delay of at most the frequency.`,
  );
}
