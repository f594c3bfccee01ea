import { describeValue } from '@mercer/options';

/** A value that is no right number, as messages say it: that '2' is a string would be overlooked. */
export function valueInWords(value: unknown): string {
  if (typeof value === 'string') return `the string ${describeValue(value)}`;
  if (typeof value === 'bigint') return `the bigint ${describeValue(value)}`;
  return describeValue(value);
}
