import { describeList } from '@mercer/options';
import { MercerError } from './mercer-error.js';

/**
 * Refuses arguments behind those that a function takes, such as those of other libraries, which would be ignored.
 *
 * @param more what was passed behind
 * @param remedy what to do instead
 * @throws MercerError INVALID_ARGUMENT
 */
export function refuseMore(what: string, more: readonly unknown[], remedy: string): void {
  if (more.every((one) => one === undefined)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${describeList(more)} is more than it takes. ${remedy}.`,
  );
}
