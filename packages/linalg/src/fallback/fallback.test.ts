import { beforeAll, describe, expect, it } from 'vitest';
import { device, empty } from '@mercer/tensor';
import { eigh } from '../eigh.js';
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

describe('without a LAPACK', () => {
  it('eigenvalues of more than 1024 rows are refused, with what to install', async () => {
    const a = empty([1025, 1025], { device: 'cpu' });
    await expect(eigh(a)).rejects.toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('libopenblas0-pthread') as string,
      }),
    );
  });
});
