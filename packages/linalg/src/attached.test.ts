import { isPending, tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import './index.js';

const where = { device: 'cpu' } as const;

it('matmul is a method of tensors, and of results that are not awaited', async () => {
  const a = await tensor(
    [
      [1, 2],
      [3, 4],
    ],
    where,
  );
  const product = a.matmul(a.transpose());
  expect(isPending(product)).toBe(true);
  expect(await product.toNested()).toEqual([
    [5, 11],
    [11, 25],
  ]);
  const chain = tensor(
    [
      [0, 1],
      [1, 0],
    ],
    where,
  )
    .matmul(a)
    .matmul(
      tensor(
        [
          [2, 0],
          [0, 2],
        ],
        where,
      ),
    );
  expect(await chain.toNested()).toEqual([
    [6, 8],
    [2, 4],
  ]);
  expect(await a.matmul(a, { transposeA: true }).toNested()).toEqual([
    [10, 14],
    [14, 20],
  ]);
});

it('a method of a chain refuses what its function refuses, once', async () => {
  const a = await tensor(
    [
      [1, 2],
      [3, 4],
    ],
    where,
  );
  const wide = tensor([[1, 2, 3]], where);
  await expect(a.matmul(wide).matmul(a).toNested()).rejects.toMatchObject({
    code: 'SHAPE_MISMATCH',
  });
  const whole = await tensor([[1, 2]], { ...where, dtype: 'int32' });
  await expect(whole.matmul(whole)).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
});
