import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeLayouts } from './layouts-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeLayouts(() => device('cpu'));
});
