import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeHistograms } from './histogram-suite.test-support.js';

describe('histograms on the CPU', () => {
  describeHistograms(() => device('cpu'));
});
