import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeRadialKernels } from './radial-kernels-suite.test-support.js';

describe('symbolic matrices on the CPU', () => {
  describeRadialKernels(() => device('cpu'));
});
