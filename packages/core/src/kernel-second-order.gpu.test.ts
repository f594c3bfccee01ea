import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeSecondOrder } from './testing/kernel-second-order-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Second derivatives of kernels on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeSecondOrder(() => gpu);
  });
}
