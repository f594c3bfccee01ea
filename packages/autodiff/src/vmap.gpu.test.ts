import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeVmap } from './testing/vmap-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('vmap on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeVmap(() => gpu);
  });
}
