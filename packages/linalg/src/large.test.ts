import { largeSuite } from './large-suite.test-support.js';
import { manyLargeSuite } from './many-large-suite.test-support.js';
import { DTYPES } from './matrices.test-support.js';

const whole = process.env['MERCER_TEST_FULL'] === '1';

largeSuite('with LAPACK', {
  solves: [
    [1024, 'float64'],
    [2048, 'float32'],
    ...(whole ? ([4096, 2048] as const).map((n) => [n, 'float64'] as const) : []),
    ...(whole ? ([[4096, 'float32']] as const) : []),
  ],
  eigen: whole ? [400, 1024, 2048] : [400],
  factors: (whole ? [400, 1024, 2048] : [400]).flatMap((n) =>
    DTYPES.map((dtype) => [n, dtype] as const),
  ),
});

manyLargeSuite('with LAPACK', {
  count: 10,
  orders: [
    ['cholesky', 130],
    ['inv', 130],
    ['qr', 130],
    ['svd', 130],
    ['lstsq', 130],
    ['eigh', 130],
  ],
});
