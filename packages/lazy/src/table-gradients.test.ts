import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeTableGradients } from './table-gradients-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeTableGradients(() => device('cpu'));
});
