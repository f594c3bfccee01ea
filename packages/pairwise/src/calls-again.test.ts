import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCallsAgain } from './calls-again-suite.test-support.js';

describe('pairwise operations on the CPU', () => {
  describeCallsAgain(() => device('cpu'));
});
