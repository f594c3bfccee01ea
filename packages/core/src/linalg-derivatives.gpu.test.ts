import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeLinalgDerivatives } from './testing/linalg-derivatives-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Derivatives of linear algebra on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeLinalgDerivatives(() => gpu);
  });
}
