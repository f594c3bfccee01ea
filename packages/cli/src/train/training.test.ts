import { device } from '@mercer/core';
import { expect, it } from 'vitest';
import { DIGIT_PIXELS } from '../digits/load-digits.js';
import { DigitsOnDevice } from './digits-on-device.js';
import { Training } from './training.js';

it('the curve knows of all steps when an epoch ends, which is when a checkpoint is written', async () => {
  const [cpu, count] = [device('cpu'), 12];
  const pixels = Float32Array.from({ length: count * DIGIT_PIXELS }, (_, i) => Math.sin(i));
  const labels = Uint8Array.from({ length: count }, (_, i) => i % 10);
  using digits = await DigitsOnDevice.upload({ count, pixels, labels }, cpu);
  const settings = {
    model: 'perceptron',
    optimizer: 'adam',
    learningRate: 1e-3,
    batch: 4,
    seed: 1,
    steps: 800, // a point of every fourth step, and epochs of 3
  } as const;
  using training = await Training.start(settings, cpu);
  const ends: (number | undefined)[][] = [];
  const ended = await training.run(digits, {
    onPoint: () => undefined,
    onEpoch: async () => {
      ends.push([training.step, training.curve.at(-1)?.step]);
      return Promise.resolve();
    },
    stops: () => ends.length === 2,
  });
  expect(ended).toBe('interrupted');
  expect(ends).toEqual([[3, 3], [6, 6]]); // prettier-ignore
  expect(training.curve.map(({ step }) => step)).toEqual([3, 4, 6, 7]);
});
