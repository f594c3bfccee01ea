import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describePrecompile } from './precompile-suite.test-support.js';

describe('on the CPU', () => {
  describePrecompile(() => device('cpu'));
});
