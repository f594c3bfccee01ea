import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeRules } from './testing/rules-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('Derivative rules on a GPU: no device');

for (const gpu of gpus) {
  describe(`on ${gpu.id}`, () => {
    describeRules(() => gpu);
  });
}
