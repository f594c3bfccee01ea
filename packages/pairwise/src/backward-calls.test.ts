import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeBackwardCalls } from './backward-calls-suite.test-support.js';

describe('backward calls on the CPU', () => {
  describeBackwardCalls(() => device('cpu'));
});
