import { InvalidArgumentError } from 'commander';
import { parseCount } from './parse-option.js';

/** Rows of both sides, and the numbers in a row where they are not said elsewhere. */
export interface MatrixSize {
  readonly m: number;
  readonly n: number;
  readonly k?: number;
}

/** Sizes as in `1000x1000` or `1000x1000x64`. */
export function parseSize(text: string): MatrixSize {
  const parts = text.split('x');
  if (parts.length < 2 || parts.length > 3) {
    throw new InvalidArgumentError(
      `sizes such as 1000x1000, or 1000x1000x64 with the length of a row, are needed and it is '${text}'`,
    );
  }
  const [m = 1, n = 1, k] = parts.map(parseCount);
  return { m, n, ...(k !== undefined && { k }) };
}

/** The same as text. */
export function sizeText({ m, n, k }: MatrixSize): string {
  return [m, n, ...(k === undefined ? [] : [k])].join('x');
}

/** Rows and columns of an image, such as 28x28. */
export function parseImageShape(text: string): readonly [height: number, width: number] {
  const [, height, width] = /^(\d{1,5})x(\d{1,5})$/i.exec(text) ?? [];
  if (Number(height) > 0 && Number(width) > 0) return [Number(height), Number(width)];
  throw new InvalidArgumentError(
    `rows x columns of pixels are needed, such as 28x28, and it is '${text}'`,
  );
}
