import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeBackwardCalls } from './backward-calls-suite.test-support.js';
import { describeCdistBackward } from './cdist-backward-suite.test-support.js';
import { describeRunKernelBackward } from './run-kernel-backward-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('gradients on a GPU: no device');

for (const gpu of gpus) {
  describe(`cdistBackward on ${gpu.id}`, () => {
    describeCdistBackward(() => gpu);
    describeBackwardCalls(() => gpu);
  });

  describe(`runKernelBackward on ${gpu.id}`, () => {
    describeRunKernelBackward(() => gpu, { full: true });
  });
}
