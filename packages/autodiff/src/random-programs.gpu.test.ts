import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeRandomPrograms } from './testing/random-programs-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Random programs on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    // each program compiles kernels of its own
    describeRandomPrograms(() => gpu, 30);
  });
}
