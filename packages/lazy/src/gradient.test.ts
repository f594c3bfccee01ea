import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeGradients } from './gradient-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeGradients(() => device('cpu'));
});
