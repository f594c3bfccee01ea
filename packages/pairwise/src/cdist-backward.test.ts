import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeBackwardCalls } from './backward-calls-suite.test-support.js';
import { describeCdistBackward, describeReference } from './cdist-backward-suite.test-support.js';

describe('the oracle of gradients', describeReference);

describe('cdistBackward on the CPU', () => {
  describeCdistBackward(() => device('cpu'), { full: process.env['MERCER_TEST_FULL'] === '1' });
  describeBackwardCalls(() => device('cpu'));
});
