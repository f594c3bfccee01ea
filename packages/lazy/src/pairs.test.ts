import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describePairs } from './pairs-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describePairs(() => device('cpu'));
});
