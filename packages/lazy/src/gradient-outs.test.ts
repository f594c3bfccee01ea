import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeGradientOuts } from './gradient-outs-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeGradientOuts(() => device('cpu'));
});
