import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describePairBlocks } from './pair-blocks-suite.test-support.js';
import { describeShards } from './shards-suite.test-support.js';

describe('several shards on the CPU', () => {
  describeShards(() => [device('cpu'), device('cpu')]);
  describePairBlocks(() => [device('cpu'), device('cpu')]);
});
