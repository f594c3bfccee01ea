import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeSeveralSums } from './several-sums-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('several long sums on a GPU: no device');

for (const gpu of gpus) {
  describe(`symbolic matrices on ${gpu.id}`, () => {
    describeSeveralSums(() => gpu, { full: true });
  });
}
