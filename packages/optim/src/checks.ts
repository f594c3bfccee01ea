import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';

/*
 * Checks of options: each takes the value, the function that was called and the name of the option, gives the value back, and throws MercerError INVALID_ARGUMENT.
 */

const refused = (value: unknown, what: string, name: string, remedy: string): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass ${remedy}.`,
  );

/** A whole number that is at least `least`. */
export function checkCount(value: unknown, what: string, name: string, least = 1): number {
  if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value);
  throw refused(value, what, name, `a whole number of at least ${least}`);
}

/** A finite number in a range. */
export function checkNumber(
  value: unknown,
  what: string,
  name: string,
  least = 0,
  most = Infinity,
): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= least && value <= most)
    return value;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw refused(value, what, name, `a finite number ${range}`);
}

/** A number in [0, 1). */
export function checkFraction(value: unknown, what: string, name: string): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value;
  throw refused(value, what, name, 'a number from 0 up to, but not, 1');
}

export function checkFlag(value: unknown, what: string, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw refused(value, what, name, 'true or false');
}

/** One of some words. */
export function checkChoice<T extends string>(
  value: unknown,
  what: string,
  name: string,
  choices: readonly T[],
): T {
  const found = choices.find((one) => one === value);
  if (found !== undefined) return found;
  const quoted = choices.map((one) => `'${one}'`);
  const last = quoted.pop() ?? '';
  throw refused(value, what, name, quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`);
}
