import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeTransforms } from './testing/transforms-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Transforms on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeTransforms(() => gpu);
  });
}
