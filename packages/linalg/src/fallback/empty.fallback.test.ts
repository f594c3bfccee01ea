import { beforeAll } from 'vitest';
import { emptySuite } from '../empty-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

emptySuite('without a LAPACK');
