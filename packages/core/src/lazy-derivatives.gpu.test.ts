import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeLazyDerivatives } from './testing/lazy-derivatives-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Derivatives of reductions on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    // each formula compiles kernels of its own: sums and others, over either side
    describeLazyDerivatives(() => gpu, [0, 3, 7, 11]);
  });
}
