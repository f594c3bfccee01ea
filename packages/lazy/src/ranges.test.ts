import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeRanges } from './ranges-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeRanges(() => device('cpu'), { full: process.env['MERCER_TEST_FULL'] === '1' });
});
