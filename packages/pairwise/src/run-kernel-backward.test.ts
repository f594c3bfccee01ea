import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import {
  describeCases,
  describeRunKernelBackward,
} from './run-kernel-backward-suite.test-support.js';

describeCases();

describe('runKernelBackward on the CPU', () => {
  describeRunKernelBackward(() => device('cpu'), {
    full: process.env['MERCER_TEST_FULL'] === '1',
  });
});
