import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { CliError } from '../cli-error.js';
import { packageRoot } from '../package-root.js';

/** Grey values of handwritten digits, one image a row, with what each shows. */
export interface DigitSet {
  /** Pixels in [0, 1], row-major, `count` x 784. */
  readonly pixels: Float32Array;
  readonly labels: Uint8Array;
  readonly count: number;
}

/** Side of an image in pixels. */
export const DIGIT_SIDE = 28;
/** Pixels of one image: the inner dimension of the distances. */
export const DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE;

const DATA = new URL('data/digits.br', packageRoot);
const COUNT = 10_000;

/** 10,000 real MNIST digits, grouped by label, which come with this package. */
export function loadDigits(): DigitSet {
  let bytes: Uint8Array;
  try {
    bytes = brotliDecompressSync(readFileSync(DATA));
  } catch (cause) {
    throw new CliError(
      'BAD_DATA',
      `Cannot load the digits: ${(cause as Error).message}. Install @mercer/cli again.`,
      { cause },
    );
  }
  if (bytes.length !== COUNT * (1 + DIGIT_PIXELS)) {
    throw new CliError(
      'BAD_DATA',
      `Cannot load the digits: they are ${bytes.length} bytes in place of ${COUNT * (1 + DIGIT_PIXELS)}. Install @mercer/cli again.`,
    );
  }
  // grey values with the three decimals that they are known by
  const greys = Float32Array.from(
    { length: 256 },
    (_, byte) => Math.round((byte / 255) * 1e3) / 1e3,
  );
  // `Float32Array.from` takes half a second for as many
  const pixels = new Float32Array(COUNT * DIGIT_PIXELS);
  for (let at = 0; at < pixels.length; at++) pixels[at] = greys[bytes[COUNT + at] ?? 0] ?? 0;
  return { pixels, labels: bytes.slice(0, COUNT), count: COUNT };
}
