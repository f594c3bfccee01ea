import { beforeAll } from 'vitest';
import { preparedSuite } from '../prepared-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

preparedSuite('without a LAPACK');
