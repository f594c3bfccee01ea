import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeKeops } from './keops-suite.test-support.js';

describe('KeOps tests on the CPU', () => {
  describeKeops(() => device('cpu'));
});
