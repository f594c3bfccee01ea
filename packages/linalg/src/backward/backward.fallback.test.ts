import { device } from '@mercer/tensor';
import { beforeAll } from 'vitest';
import { backwardSuite } from './backward-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

backwardSuite('without a LAPACK', () => device('cpu'), {
  full: process.env['MERCER_TEST_FULL'] === '1',
});
