import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeBlocks } from './blocks-suite.test-support.js';
import { describeGradientBlocks } from './gradient-blocks-suite.test-support.js';

describe('on the CPU', () => {
  describeBlocks(() => [device('cpu'), device('cpu')]);
  describeGradientBlocks(() => [device('cpu'), device('cpu')]);
});
