import { beforeAll } from 'vitest';
import { largeSuite } from '../large-suite.test-support.js';
import { DTYPES } from '../matrices.test-support.js';

const whole = process.env['MERCER_TEST_FULL'] === '1';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

largeSuite('without a LAPACK', {
  solves: [
    [1025, 'float64'],
    [2048, 'float32'],
  ],
  eigen: whole ? [256, 600] : [256],
  factors: (whole ? [130, 300] : [130]).flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)),
});
