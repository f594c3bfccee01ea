import { MercerError } from '@mercer/tensor';

/**
 * @throws MercerError INVALID_ARGUMENT where options stand in the place of the second rows, and none in their own
 */
export function refuseOptionsAsRows(
  what: string,
  rows: unknown,
  options: unknown,
  names: object,
  call: string,
): void {
  if (options !== undefined || typeof rows !== 'object' || rows === null) return;
  if (Object.getPrototypeOf(rows) !== Object.prototype) return;
  const given = Object.keys(rows);
  if (given.length === 0 || !given.every((name) => Object.hasOwn(names, name))) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the second rows, b, are an object with ${given.join(', ')}, which are options. Options stand behind b: ${call}.`,
  );
}
