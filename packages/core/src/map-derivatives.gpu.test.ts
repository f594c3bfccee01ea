import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeMapDerivatives } from './testing/map-derivatives-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Derivatives of maps on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeMapDerivatives(() => gpu);
  });
}
