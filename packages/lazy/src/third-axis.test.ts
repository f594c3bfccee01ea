import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeThirdAxis } from './third-axis-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeThirdAxis(() => device('cpu'));
});
