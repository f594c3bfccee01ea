import { describeValue } from '@mercer/options';
import { misuse } from './errors.js';

/** The number that stands for a word in a library's interface; a clear error for any other word. */
export function codeOf<K extends string>(
  codes: Readonly<Record<K, number>>,
  word: K,
  what: string,
): number {
  // Words may come from JavaScript, whatever their type says.
  const code: unknown = Object.hasOwn(codes, word) ? codes[word] : undefined;
  if (typeof code === 'number') return code;
  throw misuse(
    'INVALID_ARGUMENT',
    `${what} is ${describeValue(word)}. Use one of ${Object.keys(codes).join(', ')}.`,
  );
}
