import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeLinearize } from './testing/linearize-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('linearize on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeLinearize(() => gpu);
  });
}
