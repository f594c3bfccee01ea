import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeJoint } from './joint-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeJoint(() => device('cpu'));
});
