import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import {
  describeCases,
  describeRunKernelBackward,
} from './run-kernel-backward-suite.test-support.js';

describeCases();

describe('runKernelBackward on the CPU', () => {
  describeRunKernelBackward(() => device('cpu'));
});
