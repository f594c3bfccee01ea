import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describePairBlocks } from './pair-blocks-suite.test-support.js';
import { describeShards } from './shards-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('shards on a GPU: no device');

if (gpus[0] !== undefined) {
  const [gpu] = gpus;
  describe(`shards on ${gpu.id}`, () => {
    describeShards(() => [gpu]);
    describePairBlocks(() => [gpu]);
  });
  describe(`two shards on ${gpu.id}`, () => {
    describeShards(() => [gpu, gpu]);
    describePairBlocks(() => [gpu, gpu]);
  });
}

if (gpus.length > 1) {
  describe(`shards on ${gpus.map(({ id }) => id).join(' and ')}`, () => {
    describeShards(() => gpus);
    describePairBlocks(() => gpus);
  });
}
