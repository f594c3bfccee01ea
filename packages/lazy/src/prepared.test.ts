import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describePreparedAgain } from './prepared-suite.test-support.js';

describe('prepared reductions on the CPU', () => {
  describePreparedAgain(() => device('cpu'));
});
