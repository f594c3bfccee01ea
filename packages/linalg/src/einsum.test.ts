import { device, tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { einsum } from './index.js';
import { describeEinsum } from './einsum-suite.test-support.js';

describe('on the CPU', () => {
  describeEinsum(() => device('cpu'));
});

describe('einsum refuses', () => {
  const where = { device: 'cpu' } as const;
  it.each([
    ['ij,jk', 'INVALID_ARGUMENT', /"ij,jk" has letters for 2 operands and there are 1/],
    ['i->i', 'SHAPE_MISMATCH', /'i' has 1 letters and operand 1 is float32 \[2, 3\] .* of rank 2/],
    ['ijk', 'SHAPE_MISMATCH', /'ijk' has 3 letters/],
    ['ijk...', 'SHAPE_MISMATCH', /has 3 letters/],
    ['ii', 'SHAPE_MISMATCH', /the letter i has extent 2 and, in operand 1 of shape \[2, 3\], 3/],
    ['ij->ik', 'INVALID_ARGUMENT', /the letter k of the result is in no operand/],
    ['ij->ii', 'INVALID_ARGUMENT', /the letter i comes twice in the result 'ii'/],
    ['i...->i', 'INVALID_ARGUMENT', /the result 'i' has no \.\.\. and the operands have/],
    ['i1', 'INVALID_ARGUMENT', /'1' is no letter/],
    ['i..', 'INVALID_ARGUMENT', /dots that are not one '\.\.\.'/],
    ['......', 'INVALID_ARGUMENT', /dots that are not one '\.\.\.'/],
    ['ij->i->j', 'INVALID_ARGUMENT', /more than one '->'/],
    [7 as unknown as string, 'INVALID_ARGUMENT', /the subscripts are 7/],
  ] as const)('%s', async (subscripts, code, message) => {
    const x = await tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      where,
    );
    await expect(einsum(subscripts, [x])).rejects.toMatchObject({ code });
    await expect(einsum(subscripts, [x])).rejects.toThrow(message);
  });

  it('operands that do not go together', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    const whole = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { ...where, dtype: 'int32' },
    );
    const double = await x.cast('float64');
    const refused = async (operands: unknown, message: RegExp): Promise<void> => {
      await expect(einsum('ij,jk', operands as never)).rejects.toThrow(message);
    };
    await refused([x, whole], /operand 2 is int32 .* call cast\('float32'\) first/);
    await refused(
      [x, double],
      /operand 2 is float64 .* but operand 1 is float32\. Cast one of them/,
    );
    await refused([x, 3], /operand 2/);
    await refused(x, /the operands are a Tensor\. Pass an array/);
    await refused([], /letters for 2 operands and there are 0/);
    x.dispose();
    await refused([x, x], /disposed/);
  });

  it('nothing of results that are not awaited yet', async () => {
    const x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    expect(await einsum('ij,jk->ik', [x.transpose(), x]).toNested()).toEqual([
      [10, 14],
      [14, 20],
    ]);
  });
});
