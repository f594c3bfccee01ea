import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { compress, device, full, index, take, takeAlongAxis, tensor, zeros } from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { indexingSuite } from './indexing-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('elements by index on the CPU', () => {
  indexingSuite(() => device('cpu'));
});

describe('operations that take elements by index', () => {
  it('compute rows and gather them, without a copy of a dense tensor', async () => {
    using x = await full([4, 3], 1, where);
    using rows = await tensor(Int32Array.of(0, 2), where);
    using each = await full([4, 1], 2, { dtype: 'int32', ...where });
    expect(await launches(() => take(x, rows, 0))).toBe(2);
    expect(await launches(() => take(x, rows, 1))).toBe(2);
    expect(await launches(() => take(x.slice(null, [0, 2]), rows, 0))).toBe(2);
    expect(await launches(() => take(x.transpose(), rows, 0))).toBe(3);
    expect(await launches(() => takeAlongAxis(x, each))).toBe(2);
    expect(await launches(() => take(x, rows.slice([0, 0]), 0))).toBe(0);
  });

  it('of one shape with other numbers are other calls', async () => {
    using x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    for (let round = 0; round < 2; round++) {
      for (const [index, axis, wanted] of [
        [1, 0, [3, 4]],
        [1, 1, [2, 4]],
        [-2, 0, [1, 2]],
        [2, undefined, 3],
      ] as const) {
        using indices = await tensor(index, { dtype: 'int32', ...where });
        expect(await take(x, indices, axis).toNested()).toEqual(wanted);
        expect(await take(x, index, axis).toNested()).toEqual(wanted);
      }
    }
  });

  it('keep no memory but their results', async () => {
    using x = await tensor([[1, 2]], where);
    using mask = await x.gt(1);
    using indices = await tensor([[0]], { dtype: 'int64', ...where });
    const kept = await memoryKept(x.device, async () => {
      for (let k = 0; k < 20; k++) {
        const all = [
          take(x, indices, 1),
          take(x, [1, 0], 1),
          takeAlongAxis(x, indices),
          compress(x, mask),
          index(x, [mask]),
          index(x, [[0], { start: 1 }]),
        ];
        for (const one of all) (await one).dispose();
        await expect(take(x, [2], 1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
    });
    expect(kept).toEqual(NOTHING);
  });

  it('take results before they are awaited, and give such', async () => {
    using x = await tensor([3, 1, 2], where);
    const order = tensor(Int32Array.of(1, 2), where);
    expect(await x.mul(2).take(order, 0).add(1).toNested()).toEqual([3, 5]);
    expect(await x.mul(2).takeAlongAxis(order).toNested()).toEqual([2, 4]);
    expect(await x.mul(2).compress(x.gt(1)).add(1).toNested()).toEqual([7, 5]);
  });

  it('have read what later calls overwrite, and read what earlier ones write', async () => {
    using x = await tensor([3, 1, 2], where);
    using mask = await x.gt(1);
    const taken = take(x, [0, 1], 0);
    const kept = compress(x, mask);
    const filled = x.fill(9);
    expect(await taken.toNested()).toEqual([3, 1]);
    expect(await kept.toNested()).toEqual([3, 2]);
    await filled;
    const again = x.fill(4);
    expect(await compress(x, mask).toNested()).toEqual([4, 4]);
    await again;
  });

  it('arrays of indices may change once the call was made', async () => {
    const indices = [0, 1];
    const taken = tensor([5, 6], where).take(indices, 0);
    indices[0] = 1;
    expect(await taken.toNested()).toEqual([5, 6]);
  });
});

describe('what they refuse', () => {
  it('is said with values and a remedy', async () => {
    using x = await full([2, 3], 1, where);
    using rows = await tensor(Int32Array.of(0, 1), where);
    using other = await zeros([2], where);
    using gone = await zeros([2], where);
    gone.dispose();
    const cases: readonly (readonly [string, () => unknown])[] = [
      ['an index beyond the end', () => take(x, [0, 3], 1)],
      ['an index before the start', () => take(x, [-3], 0)],
      ['half an index', () => take(x, 0.5, 0)],
      ['an index of nothing', () => take(zeros([0], where), 0, 0)],
      ['rows of two lengths', () => take(x, [[0], [0, 1]] as never, 0)],
      ['words', () => take(x, ['first'] as never, 0)],
      ['booleans', () => x.index([[true, false, true]] as never)],
      ['floats', () => take(x, x as never, 0)],
      ['a mask', () => take(x, x.gt(0) as never, 0)],
      ['an axis that is not there', () => take(x, rows, 2)],
      ['an axis that is none', () => take(x, rows, 'rows' as never)],
      ['take of nothing', () => take(3 as never, rows)],
      ['a disposed one', () => take(gone, [0])],
      ['an output of another shape', () => take(x, rows, 0, { out: other })],
      ['an output that is read', () => take(x, rows, 0, { out: x })],
      ['indices of another rank', () => takeAlongAxis(x, rows)],
      ['indices of another shape', () => takeAlongAxis(x, [[0], [0], [0]], 1)],
      ['a scalar along an axis', () => takeAlongAxis(x.slice(0, 0), rows)],
      ['a range of unknown names', () => index(x, [{ from: 1 } as never, 0])],
      ['a range that steps by 0', () => index(x, [{ step: 0 }, 0])],
      ['ranges alone', () => index(x, [{ stop: 1 }, null])],
      ['a mask of more axes than are left', () => index(x, [0, x.gt(0)])],
      ['a mask of other axes', () => index(x, [x.transpose().gt(0)])],
      ['a mask of no axes', () => index(x, [x.slice(0, 0).gt(0)])],
      ['a mask of another shape', () => compress(x, x.slice(0).gt(0))],
      ['a mask of another length', () => compress(x, x.slice(0).gt(0), 0)],
      ['a mask of numbers', () => compress(x, x as never)],
      ['a mask that is none', () => compress(x, [true] as never)],
      ['compress of nothing', () => compress(null as never, x.gt(0))],
      ['compress along no axis', () => compress(x, x.slice(0).gt(0), 2)],
    ];
    const messages: Record<string, string> = {};
    for (const [name, work] of cases) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "a disposed one": "DISPOSED float32 [2] tensor #n on cpu was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.",
        "a mask": "DTYPE_MISMATCH take: the indices are bool [2, 3] tensor #n on cpu. Pass int64, int32 or uint8; compress(x, mask) takes a mask.",
        "a mask of another length": "SHAPE_MISMATCH compress: a mask of shape [3] for float32 [2, 3] tensor #n on cpu along axis 0. Its shape must be [2].",
        "a mask of another shape": "SHAPE_MISMATCH compress: a mask of shape [3] for float32 [2, 3] tensor #n on cpu without an axis. Its shape must be [2, 3].",
        "a mask of more axes than are left": "INVALID_ARGUMENT index: the 2 entries are of 3 axes for float32 [2, 3] tensor #n on cpu. Pass at most one for each axis; a mask is of as many as it has.",
        "a mask of no axes": "SHAPE_MISMATCH index: a mask of shape [] from axis 0 of shape [2, 3] on. Pass a mask whose extents are those of its axes.",
        "a mask of numbers": "DTYPE_MISMATCH compress: the mask is float32 [2, 3] tensor #n on cpu. Pass bool, such as x.gt(0); take(x, indices) takes indices.",
        "a mask of other axes": "SHAPE_MISMATCH index: a mask of shape [3, 2] from axis 0 of shape [2, 3] on. Pass a mask whose extents are those of its axes.",
        "a mask that is none": "INVALID_ARGUMENT compress: the mask: expected a tensor, got an array of 1. Make one with tensor(data).",
        "a range of unknown names": "INVALID_ARGUMENT index: a range: there is no option 'from'. The options are start, stop, step.",
        "a range that steps by 0": "INVALID_ARGUMENT slice: step 0 in the range of dimension 0. Use a positive or negative step.",
        "a scalar along an axis": "SHAPE_MISMATCH takeAlongAxis: axis -1 of a tensor without axes. Call reshape([1]) first.",
        "an axis that is none": "INVALID_ARGUMENT take: axis "rows" of shape [2, 3]. Use -2 to 1.",
        "an axis that is not there": "INVALID_ARGUMENT take: axis 2 of shape [2, 3]. Use -2 to 1.",
        "an index before the start": "INVALID_ARGUMENT take: index -3 of an axis with 2 elements. Use -2 to 1; negative ones count from the end.",
        "an index beyond the end": "INVALID_ARGUMENT take: index 3 of an axis with 3 elements. Use -3 to 2; negative ones count from the end.",
        "an index of nothing": "INVALID_ARGUMENT take: index 0 of an axis without elements. Pass no indices, or another axis.",
        "an output of another shape": "SHAPE_MISMATCH take: out is float32 [2] tensor #n on cpu and the result has shape [2, 3]. Allocate it with that shape.",
        "an output that is read": "OVERLAP take: the output float32 [2, 3] tensor #n on cpu shares memory with the input float32 [2, 3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "booleans": "INVALID_ARGUMENT index: the indices are booleans, an array of 3. Pass numbers, or a mask as a tensor: await tensor(mask).",
        "compress along no axis": "INVALID_ARGUMENT compress: axis 2 of shape [2, 3]. Use -2 to 1.",
        "compress of nothing": "INVALID_ARGUMENT compress: x: expected a tensor, got null. Make one with tensor(data).",
        "floats": "DTYPE_MISMATCH take: the indices are float32 [2, 3] tensor #n on cpu. Pass int64, int32 or uint8; cast('int32') converts.",
        "half an index": "INVALID_ARGUMENT take: index 0.5 of an axis with 2 elements. Use -2 to 1; negative ones count from the end.",
        "indices of another rank": "SHAPE_MISMATCH takeAlongAxis: indices of shape [2] for shape [2, 3] along axis 1. They must have as many axes, and beside axis 1 its extents or 1.",
        "indices of another shape": "SHAPE_MISMATCH takeAlongAxis: indices of shape [3, 1] for shape [2, 3] along axis 1. They must have as many axes, and beside axis 1 its extents or 1.",
        "ranges alone": "INVALID_ARGUMENT index: all axes are null or ranges. Pass indices for one of them; slice() takes ranges.",
        "rows of two lengths": "SHAPE_MISMATCH take: the indices: the first elements say shape [2, 1], but at depth 1 there is a row of length 2. Make all rows of one length.",
        "take of nothing": "INVALID_ARGUMENT take: x: expected a tensor, got 3. Make one with tensor(data).",
        "words": "INVALID_ARGUMENT take: the indices: "first" is not a number, bigint or boolean. Pass one of these.",
      }
    `);
  });
});
