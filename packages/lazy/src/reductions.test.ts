import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeReductions } from './reductions-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeReductions(() => device('cpu'));
});
