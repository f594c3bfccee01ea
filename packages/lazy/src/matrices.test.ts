import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeMatrices } from './matrices-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeMatrices(() => device('cpu'));
});
