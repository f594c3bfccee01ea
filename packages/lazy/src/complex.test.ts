import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeComplex } from './complex-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeComplex(() => device('cpu'));
});
