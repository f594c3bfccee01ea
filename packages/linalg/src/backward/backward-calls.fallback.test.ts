import { device } from '@mercer/tensor';
import { beforeAll } from 'vitest';
import { backwardCallsSuite } from './backward-calls-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

backwardCallsSuite('without a LAPACK', () => device('cpu'));
