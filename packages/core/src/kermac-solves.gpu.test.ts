import { describe, it } from 'vitest';
import { devices } from './index.js';
import { describeKermacSolves } from './kermac-solves-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip("Kermac's tests on a GPU: no device");

for (const gpu of gpus) {
  describe(`Kermac's tests on ${gpu.id}`, () => {
    describeKermacSolves(() => gpu);
  });
}
