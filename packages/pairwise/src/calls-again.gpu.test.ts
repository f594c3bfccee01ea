import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeCallsAgain } from './calls-again-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('calls made again on a GPU: no device');

for (const gpu of gpus) {
  describe(`pairwise operations on ${gpu.id}`, () => {
    describeCallsAgain(() => gpu);
  });
}
