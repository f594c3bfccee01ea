import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeDims } from './dims-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('dims on a GPU: no device');

for (const gpu of gpus) {
  describe(`every dim on ${gpu.id}`, () => {
    describeDims(() => gpu, { whole: process.env['MERCER_TEST_FULL'] === '1' });
  });
}
