import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeBadInput } from './testing/bad-input-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Bad input of transforms on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeBadInput(() => gpu);
  });
}
