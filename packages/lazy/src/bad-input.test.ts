import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeBadInput } from './bad-input-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeBadInput(() => device('cpu'));
});
