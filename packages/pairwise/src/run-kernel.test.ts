import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeRunKernel } from './run-kernel-suite.test-support.js';

describe('runKernel on the CPU', () => {
  describeRunKernel(() => device('cpu'), { full: process.env['MERCER_TEST_FULL'] === '1' });
});
