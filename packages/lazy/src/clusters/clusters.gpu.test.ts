import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeClusters } from './clusters-suite.test-support.js';
import { describeKMeans } from './k-means-suite.test-support.js';
import { describeTruncated } from './truncated-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('clusters on a GPU: no device');

for (const gpu of gpus) {
  describe(`clusters on ${gpu.id}`, () => {
    describeClusters(() => gpu);
    describeKMeans(() => gpu);
    describeTruncated(() => gpu);
  });
}
