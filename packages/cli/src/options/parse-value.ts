import { InvalidArgumentError } from 'commander';
import { isFileName } from '../files/file-name.js';

/** A parameter on the command line: numbers, or the name of a file that holds them. */
export type ParameterText = { readonly numbers: readonly number[] } | { readonly file: string };

/** A number, a comma-separated list of numbers, or a file of an array or of columns. */
export function parseValue(text: string): ParameterText {
  if (isFileName(text)) return { file: text };
  const numbers = text.split(',').map(parseNumber);
  if (numbers.some(Number.isNaN)) {
    throw new InvalidArgumentError(
      `a number, a list such as 1,2.5, or a .npy file is needed and it is '${text}'`,
    );
  }
  return { numbers };
}

/** Two whole numbers, such as 100,0. */
export function parseOffset(text: string): readonly [x: number, y: number] {
  const [x = NaN, y = NaN, ...more] = text.split(',').map(parseNumber);
  if (!Number.isSafeInteger(x) || !Number.isSafeInteger(y) || more.length > 0) {
    throw new InvalidArgumentError(`two whole numbers X,Y are needed and it is '${text}'`);
  }
  return [x, y];
}

function parseNumber(text: string): number {
  const trimmed = text.trim();
  if (/^[+-]?inf(inity)?$/i.test(trimmed)) return trimmed.startsWith('-') ? -Infinity : Infinity;
  return trimmed === '' ? NaN : Number(trimmed);
}
