import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeValueAndGradients } from './value-and-gradients-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeValueAndGradients(() => device('cpu'));
});
