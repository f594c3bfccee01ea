import { empty, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { inv } from './inv.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { orthogonalSuite } from './orthogonal-suite.test-support.js';
import { qr } from './qr.js';
import { svd } from './svd.js';

orthogonalSuite('with LAPACK', [1, 2, 5, 31, 70, 140]);

const zeros = (...shape: number[]): Tensor<'float32'> => empty(shape, { device: 'cpu' });

describe('bad input', () => {
  const cases: readonly [string, () => Promise<unknown>, string, RegExp][] = [
    [
      'matmul of extents that do not meet',
      () => matmul(zeros(2, 3), zeros(2, 3)),
      'SHAPE_MISMATCH',
      /3 columns meet 2 rows/,
    ],
    [
      'matmul with beta and no out',
      () => matmul(zeros(1, 1), zeros(1, 1), { beta: 1 }),
      'INVALID_ARGUMENT',
      /out/,
    ],
    [
      'lstsq with a tolerance of 1',
      () => lstsq(zeros(1, 1), zeros(1, 1), { tolerance: 1 }),
      'INVALID_ARGUMENT',
      /share/,
    ],
    [
      'lstsq with sides of another length',
      () => lstsq(zeros(3, 2), zeros(2, 1)),
      'SHAPE_MISMATCH',
      /3 rows/,
    ],
    ['inv of a rectangle', () => inv(zeros(3, 2)), 'SHAPE_MISMATCH', /not square/],
    [
      'inv by an unknown method',
      () => inv(zeros(2, 2), { method: 'qr' as never }),
      'INVALID_ARGUMENT',
      /'lu' or 'cholesky'/,
    ],
    ['qr of a vector', () => qr(zeros(3)), 'SHAPE_MISMATCH', /no matrix/],
  ];
  it.each(cases)('refuses %s', async (_name, call, code, message) => {
    await expect(call()).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });

  it('is not an empty matrix', async () => {
    const { u, s, vh } = await svd(zeros(0, 3));
    expect([u.shape, s.shape, vh.shape]).toEqual([[0, 0], [0], [0, 3]]);
    const { x } = await lstsq(zeros(0, 3), zeros(0, 2));
    expect(await x.toNested()).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(await (await matmul(zeros(2, 0), zeros(0, 2))).toNested()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});
