import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeGather } from './gather-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeGather(() => device('cpu'));
});
