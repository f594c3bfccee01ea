import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeMapsOfKernels } from './testing/maps-of-kernels-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Maps of kernels on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeMapsOfKernels(() => gpu);
  });
}
