import { beforeAll } from 'vitest';
import { device } from '@mercer/tensor';
import { matmulSuite } from '../matmul-suite.test-support.js';
import { powersSuite } from '../powers-suite.test-support.js';
import { factorsSuite } from '../factors-suite.test-support.js';
import { orthogonalSuite } from '../orthogonal-suite.test-support.js';
import { solveSuite } from '../solve-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

solveSuite('without a LAPACK', [1, 2, 5, 40, 70]);
factorsSuite('without a LAPACK', [1, 2, 5, 30, 70]);
orthogonalSuite('without a LAPACK', [1, 2, 5, 30]);
powersSuite('without a LAPACK', [1, 2, 5, 20]);
matmulSuite('without a LAPACK', () => device('cpu'), { scatters: true, runs: 40 });
