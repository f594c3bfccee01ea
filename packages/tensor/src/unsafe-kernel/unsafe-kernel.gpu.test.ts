import { describe, test } from 'vitest';
import { devices } from '../index.js';
import { unsafeKernelSuite } from './unsafe-kernel-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`kernels of users on ${gpu.id}`, () => {
    unsafeKernelSuite(() => gpu);
  });
}
