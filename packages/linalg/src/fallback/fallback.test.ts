import { beforeAll, describe, expect, it } from 'vitest';
import { device, empty } from '@mercer/tensor';
import { matmulSuite } from '../matmul-suite.test-support.js';
import { powersSuite } from '../powers-suite.test-support.js';
import { solveLU } from '../solve-lu.js';
import { factorsSuite } from '../factors-suite.test-support.js';
import { orthogonalSuite } from '../orthogonal-suite.test-support.js';
import { solveSuite } from '../solve-suite.test-support.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

solveSuite('with ml-matrix in a worker', [1, 2, 5, 40]);
factorsSuite('with ml-matrix in a worker', [1, 2, 5, 30]);
orthogonalSuite('with ml-matrix in a worker', [1, 2, 5, 30]);
powersSuite('with ml-matrix in a worker', [1, 2, 5, 20]);
matmulSuite('with ml-matrix in a worker', () => device('cpu'), { scatters: true, runs: 40 });

describe('without a LAPACK', () => {
  it('more than 1024 rows are refused, with what to install', async () => {
    const a = empty([1025, 1025], { device: 'cpu' });
    await expect(solveLU(a, a)).rejects.toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('libopenblas0-pthread') as string,
      }),
    );
  });
});
