import { Random } from '../random.js';
import { DIGIT_PIXELS, type DigitSet } from './load-digits.js';

/** Which images are classified and which are known. */
export interface DigitSplit {
  readonly train: DigitSet;
  readonly test: DigitSet;
}

const SEED = 1998; // the year of the MNIST paper
const HELD_OUT = 5;

/**
 * Holds out every fifth image of a fixed random order within each label, so that both parts have the labels in equal
 * shares. The same images are held out on every machine.
 */
export function splitDigits(all: DigitSet): DigitSplit {
  const order = new Random(SEED).permutation(all.count);
  const seen = new Uint32Array(10);
  const train: number[] = [];
  const test: number[] = [];
  for (const image of order) {
    const label = all.labels[image] ?? 0;
    const rank = seen[label] ?? 0;
    seen[label] = rank + 1;
    (rank % HELD_OUT === 0 ? test : train).push(image);
  }
  return { train: pick(all, train), test: pick(all, test) };
}

function pick(all: DigitSet, images: readonly number[]): DigitSet {
  const pixels = new Float32Array(images.length * DIGIT_PIXELS);
  const labels = new Uint8Array(images.length);
  images.forEach((image, i) => {
    const start = image * DIGIT_PIXELS;
    pixels.set(all.pixels.subarray(start, start + DIGIT_PIXELS), i * DIGIT_PIXELS);
    labels[i] = all.labels[image] ?? 0;
  });
  return { pixels, labels, count: images.length };
}
