import { device, empty, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { backwardSuite } from './backward-suite.test-support.js';
import { choleskyBackward } from './cholesky-backward.js';
import { eighBackward } from './eigh-backward.js';
import { invBackward } from './inv-backward.js';
import { kronBackward } from './kron-backward.js';
import { kronMatvecBackward } from './kron-matvec-backward.js';
import { logdetBackward } from './logdet-backward.js';
import { lstsqBackward } from './lstsq-backward.js';
import { matmulBackward } from './matmul-backward.js';
import { matrixPowerBackward } from './matrix-power-backward.js';
import { qrBackward } from './qr-backward.js';
import { solveCholeskyBackward } from './solve-cholesky-backward.js';
import { solveLUBackward } from './solve-lu-backward.js';
import { svdBackward } from './svd-backward.js';
import { solveTriangularBackward } from './solve-triangular-backward.js';

backwardSuite('on the CPU', () => device('cpu'), {
  full: process.env['MERCER_TEST_FULL'] === '1',
});

const zeros = (...shape: number[]): Tensor<'float32'> => empty(shape, { device: 'cpu' });
const wide = (...shape: number[]): Tensor<'float32'> =>
  empty(shape, { device: 'cpu', dtype: 'float64' }) as Tensor as Tensor<'float32'>;

describe('bad input of backward rules', () => {
  const [a, x] = [zeros(2, 2), zeros(2, 1)];
  const spectrum = { values: zeros(2), vectors: a };
  const factors = { u: zeros(3, 2), s: zeros(2), vh: a };
  const cases: readonly [string, () => Promise<unknown>, string, RegExp][] = [
    [
      'a gradient of another shape than x',
      () => solveLUBackward(zeros(2, 2), { a, x }),
      'SHAPE_MISMATCH',
      /gradient is .*\[2, 2\].* must be \[2, 1\]/,
    ],
    [
      'a gradient of another dtype',
      () => solveCholeskyBackward(wide(2, 1), { a, x }),
      'DTYPE_MISMATCH',
      /float64.*float32/,
    ],
    [
      'an x that does not fit a',
      () => solveLUBackward(zeros(3, 1), { a, x: zeros(3, 1) }),
      'SHAPE_MISMATCH',
      /2 rows/,
    ],
    [
      'a factor that is not square',
      () => solveCholeskyBackward(x, { factor: zeros(2, 3), x }),
      'SHAPE_MISMATCH',
      /not square/,
    ],
    [
      'nothing of the forward call',
      () => invBackward(a, undefined as never),
      'INVALID_ARGUMENT',
      /invBackward: the second argument is undefined. Pass an object/,
    ],
    [
      'a solution that is not there',
      () => solveLUBackward(x, { a } as never),
      'INVALID_ARGUMENT',
      /x: expected a tensor, got undefined/,
    ],
    [
      'an input that is not there',
      () => solveLUBackward(x, { a, x }, { wrt: ['c' as 'a'] }),
      'INVALID_ARGUMENT',
      /wrt names "c", and the inputs are a, b/,
    ],
    [
      'a b that does not broadcast to x',
      () => solveTriangularBackward(x, { a, x, b: { shape: [3, 1] } }),
      'SHAPE_MISMATCH',
      /\[3, 1\] does not broadcast/,
    ],
    [
      'an unknown triangle',
      () => choleskyBackward(a, { factor: a }, { uplo: 'both' as 'lower' }),
      'INVALID_ARGUMENT',
      /'lower' or 'upper'/,
    ],
    [
      'no gradient of eigh',
      () => eighBackward({}, spectrum),
      'INVALID_ARGUMENT',
      /at least one result: values, vectors/,
    ],
    [
      'eigenvalues of another order',
      () => eighBackward({ values: zeros(3) }, { values: zeros(3), vectors: a }),
      'SHAPE_MISMATCH',
      /values is .*\[3\].* must be \[2\]/,
    ],
    [
      'a tolerance of 1',
      () => eighBackward({ vectors: a }, spectrum, { tolerance: 1 }),
      'INVALID_ARGUMENT',
      /tolerance is 1.*from 0 up to 1/,
    ],
    ['no gradient of svd', () => svdBackward({}, factors), 'INVALID_ARGUMENT', /u, s, vh/],
    [
      'a gradient of u in the shape of vh',
      () => svdBackward({ u: a }, factors),
      'SHAPE_MISMATCH',
      /the gradient of u is .*\[2, 2\].* must be \[3, 2\]/,
    ],
    [
      'factors of two calls',
      () => svdBackward({ u: zeros(3, 2) }, { ...factors, vh: zeros(3, 2) }),
      'SHAPE_MISMATCH',
      /vh is/,
    ],
    ['no gradient of qr', () => qrBackward({}, { q: a, r: a }), 'INVALID_ARGUMENT', /q, r/],
    [
      'an r that does not fit q',
      () => qrBackward({ q: a }, { q: a, r: zeros(3, 2) }),
      'SHAPE_MISMATCH',
      /r is .*must be \[2, 2\]/,
    ],
    [
      'an x of lstsq in the other orientation',
      () => lstsqBackward(zeros(1, 2), { a: zeros(3, 2), b: zeros(3, 1), x: zeros(1, 2) }),
      'SHAPE_MISMATCH',
      /x is .*must be \[2, 1\]/,
    ],
    [
      'a negative tolerance of lstsq',
      () => lstsqBackward(x, { a, b: x, x }, { tolerance: -1 }),
      'INVALID_ARGUMENT',
      /tolerance is -1/,
    ],
    [
      'an inverse that is not square',
      () => invBackward(zeros(2, 3), { inverse: zeros(2, 3) }),
      'SHAPE_MISMATCH',
      /not square/,
    ],
    [
      'a gradient of logdet with the axes of a',
      () => logdetBackward(a, { a }),
      'SHAPE_MISMATCH',
      /must be \[\]/,
    ],
    [
      'operands of matmul that do not meet',
      () => matmulBackward(a, { a, b: zeros(3, 2) }),
      'SHAPE_MISMATCH',
      /2 columns meet 3 rows/,
    ],
    [
      'a gradient of matmul turned round',
      () => matmulBackward(zeros(1, 2), { a, b: x }),
      'SHAPE_MISMATCH',
      /must be \[2, 1\]/,
    ],
    [
      'a precision that float64 has not',
      () => matmulBackward(wide(2, 1), { a: wide(2, 2), b: wide(2, 1) }, { precision: 'tf32' }),
      'INVALID_ARGUMENT',
      /precision is 'tf32' and the matrices are float64/,
    ],
    [
      'a power that is no number',
      () => matrixPowerBackward(a, { a }, NaN),
      'INVALID_ARGUMENT',
      /power is NaN/,
    ],
    [
      'a negative eps',
      () => matrixPowerBackward(a, { a }, 1, { eps: -1 }),
      'INVALID_ARGUMENT',
      /eps is -1/,
    ],
    [
      'a gradient of kron in the shape of a',
      () => kronBackward(a, { a, b: a }),
      'SHAPE_MISMATCH',
      /must be \[4, 4\]/,
    ],
    [
      'a vector of another length',
      () => kronMatvecBackward(zeros(4), { a, b: a, x: zeros(3) }),
      'SHAPE_MISMATCH',
      /4 columns/,
    ],
    [
      'something that is no tensor',
      () => solveLUBackward(1 as never, { a, x }),
      'INVALID_ARGUMENT',
      /gradient/,
    ],
  ];
  it.each(cases)('refuses %s', async (_name, call, code, message) => {
    await expect(call()).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });
});

describe('backward rules', () => {
  it('take empty matrices', async () => {
    const none = zeros(0, 0);
    const spectrum = { values: zeros(0), vectors: none };
    expect((await eighBackward({ values: zeros(0) }, spectrum)).a.shape).toEqual([0, 0]);
    expect((await matrixPowerBackward(none, spectrum, 2)).a.shape).toEqual([0, 0]);
    const factors = { u: zeros(3, 0), s: zeros(0), vh: zeros(0, 0) };
    expect((await svdBackward({ s: zeros(0) }, factors)).a.shape).toEqual([3, 0]);
    const parts = { q: zeros(2, 0), r: zeros(0, 0) };
    expect((await qrBackward({ q: zeros(2, 0) }, parts)).a.shape).toEqual([2, 0]);
    const lstsq = { a: zeros(2, 0), b: zeros(2, 1), x: zeros(0, 1) };
    const { a, b } = await lstsqBackward(zeros(0, 1), lstsq);
    expect([a.shape, await b.toNested()]).toEqual([
      [2, 0],
      [[0], [0]],
    ]);
  });
});
