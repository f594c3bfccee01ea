import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeOperations } from './operations-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeOperations(() => device('cpu'));
});
