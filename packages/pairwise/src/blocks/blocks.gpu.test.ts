import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeBlocks } from './blocks-suite.test-support.js';
import { describeGradientBlocks } from './gradient-blocks-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('pairwise blocks on a GPU: no device');

if (gpus[0] !== undefined) {
  const [gpu] = gpus;
  describe(`on ${gpu.id}`, () => {
    describeBlocks(() => [gpu]);
    describeGradientBlocks(() => [gpu]);
  });
}

if (gpus.length > 1) {
  describe(`on ${gpus.map(({ id }) => id).join(' and ')}`, () => {
    describeBlocks(() => gpus);
    describeGradientBlocks(() => gpus);
  });
}
