import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { concat, device, flip, full, pad, split, stack, tensor, tile, zeros } from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { shapingSuite } from './shaping-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('shapes on the CPU', () => {
  shapingSuite(() => device('cpu'));
});

describe('operations that change shapes', () => {
  it('write each element once: a copy for each part, a fill for each side', async () => {
    const x = await tensor([[1, 2]], where);
    expect(await launches(() => concat([x, x, x]))).toBe(3);
    expect(await launches(() => stack([x, x]))).toBe(2);
    expect(await launches(() => tile(x, [3, 2]))).toBe(1);
    expect(await launches(() => pad(x, 1))).toBe(5);
    expect(
      await launches(() =>
        pad(x, [
          [0, 0],
          [0, 1],
        ]),
      ),
    ).toBe(2);
    expect(await launches(() => pad(x, 0))).toBe(1);
    expect(await launches(async () => Promise.resolve([x.flip(), x.split(2, 1)]))).toBe(0);
    x.dispose();
  });

  it('of one shape with other numbers are other calls', async () => {
    const x = await tensor([[1, 2]], where);
    for (let round = 0; round < 2; round++) {
      expect(await concat([x, x], 0).toNested()).toEqual([
        [1, 2],
        [1, 2],
      ]);
      expect(await concat([x, x], 1).toNested()).toEqual([[1, 2, 1, 2]]);
      expect(await stack([x, x], 0).toNested()).toEqual([[[1, 2]], [[1, 2]]]);
      expect(await tile(x, 2).toNested()).toEqual([[1, 2, 1, 2]]);
      expect(await tile(x, [2, 1]).toNested()).toEqual([
        [1, 2],
        [1, 2],
      ]);
      for (const value of [3, 4]) {
        const widths = [
          [0, 0],
          [1, 0],
        ] as const;
        expect(await pad(x, widths, { value }).toNested()).toEqual([[value, 1, 2]]);
        expect(await pad(x, widths.toReversed(), { value }).toNested()).toEqual([
          [value, value],
          [1, 2],
        ]);
      }
    }
  });

  it('keep no memory but their results', async () => {
    const x = await tensor([[1, 2]], where);
    const kept = await memoryKept(x.device, async () => {
      for (let k = 0; k < 20; k++) {
        for (const one of [concat([x, x]), stack([x, x], 1), tile(x, 2), pad(x, 1)]) {
          (await one).dispose();
        }
        for (const one of [...x.split(2, 1), x.flip()]) one.dispose();
      }
    });
    expect(kept).toEqual(NOTHING);
    x.dispose();
  });

  it('take results before they are awaited, and give such', async () => {
    const x = await tensor([1, 2], where);
    const twice = x.mul(2);
    const both = concat([x, twice]).add(1).flip();
    expect(await both.toNested()).toEqual([5, 3, 3, 2]);
    expect(await stack([twice, zeros([2], where)]).toNested()).toEqual([
      [2, 4],
      [0, 0],
    ]);
    expect(await twice.tile(2).toNested()).toEqual([2, 4, 2, 4]);
    expect(await twice.pad([1, 0]).toNested()).toEqual([0, 2, 4]);
    const [left, right] = tensor([1, 2, 3], where).split([1, 2]);
    expect(await left?.toNested()).toEqual([1]);
    expect(await right?.mul(2).toNested()).toEqual([4, 6]);
    expect(await flip(x.add(1)).toNested()).toEqual([3, 2]);
    const parts = split(x.add(1), 2);
    expect(await Promise.all(parts.map((one) => one.toNested()))).toEqual([[2], [3]]);
  });

  it('a chain that reads what a join overwrites has read it before', async () => {
    const x = await tensor([1, 2], where);
    const y = await tensor([0, 0, 0, 0], where);
    const before = y.add(10);
    await concat([x, x], 0, { out: y });
    expect(await before.toNested()).toEqual([10, 10, 10, 10]);
    expect(await y.toNested()).toEqual([1, 2, 1, 2]);
  });

  it('arrays of widths and counts may change once the call was made', async () => {
    const x = await tensor([1], where);
    const widths: [number, number] = [1, 1];
    const counts = [2];
    const sizes = [1, 0];
    const padded = pad(x.add(0), widths);
    const tiled = tile(x.add(0), counts);
    const parts = x.add(0).split(sizes);
    widths[0] = 5;
    counts[0] = 5;
    sizes[0] = 5;
    expect(await padded.toNested()).toEqual([0, 1, 0]);
    expect(await tiled.toNested()).toEqual([1, 1]);
    expect(await parts[0]?.toNested()).toEqual([1]);
  });

  it('transpose() exchanges the last two axes', () => {
    const x = { shape: [2, 3, 4] };
    return zeros(x.shape, where).then((one) => {
      expect(one.transpose().shape).toEqual([2, 4, 3]);
    });
  });
});

describe('what they refuse', () => {
  it('is said with values and a remedy', async () => {
    const x = await full([2, 3], 1, where);
    const y = await full([2, 2], 1, where);
    const gone = await zeros([2], where);
    gone.dispose();
    const cases: readonly (readonly [string, () => unknown])[] = [
      ['extents that differ', () => concat([x, y])],
      ['ranks that differ', () => concat([x, x.slice(0)])],
      ['an axis that is not there', () => concat([x], 2)],
      ['an axis that is none', () => concat([x], 'rows' as never)],
      ['no tensors', () => concat([])],
      ['tensors as arguments', () => concat(x as never, y as never)],
      ['rank 0', () => concat([x.slice(0, 0)])],
      ['something else', () => concat([[1, 2] as never])],
      ['a disposed one', () => concat([gone])],
      ['an output of another shape', () => concat([x, x], 0, { out: x })],
      ['an output that is read', () => concat([x.slice([0, 1]), x.slice([0, 1])], 0, { out: x })],
      ['a stack of two shapes', () => stack([x, y])],
      ['an axis that a stack has not', () => stack([x], 3)],
      ['negative counts', () => tile(x, -1)],
      ['counts that are none', () => tile(x, 'two' as never)],
      ['half counts', () => tile(x, [1, 0.5])],
      ['tile of nothing', () => tile(3 as never, 2)],
      ['negative widths', () => pad(x, -1)],
      ['half widths', () => pad(x, [0.5, 1])],
      ['widths of three', () => pad(x, [1, 2, 3] as never)],
      [
        'too many pairs',
        () =>
          pad(x, [
            [1, 1],
            [1, 1],
            [1, 1],
          ]),
      ],
      ['widths that are none', () => pad(x, 'all' as never)],
      ['a value that is none', () => pad(x, 1, { value: 'zero' as never })],
      ['pad of nothing', () => pad(undefined as never, 2)],
      ['parts that do not fit', () => split(x, 2, 1)],
      ['sizes that do not fit', () => x.split([1, 1], 1)],
      ['no parts', () => x.split(0)],
      ['sizes that are none', () => x.split([2.5, -0.5])],
      ['split along no axis', () => x.split(1, 5)],
      ['split of nothing', () => split(null as never, 1)],
      ['sections that are none, of what is pending', () => x.add(1).split('two' as never)],
      ['flip along no axis', () => x.flip([0, 2])],
      ['flip along one axis twice', () => flip(x, [0, -2])],
    ];
    const messages: Record<string, string> = {};
    for (const [name, work] of cases) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "a disposed one": "DISPOSED float32 [2] tensor #n on cpu was disposed and cannot be used. Use it before dispose() or the end of its scope, or keep it with scope.keep(). MERCER_DEBUG=tensor records where it was disposed.",
        "a stack of two shapes": "SHAPE_MISMATCH stack: float32 [2, 3] tensor #n on cpu and float32 [2, 2] tensor #n on cpu differ in shape. Stack tensors of one shape, or concat() along an axis that they have.",
        "a value that is none": "INVALID_ARGUMENT pad: the value: "zero" is not a number, bigint or boolean. Pass one of these.",
        "an axis that a stack has not": "INVALID_ARGUMENT stack: axis 3 of a stack of shape [2, 3], which has one axis more. Use -3 to 2.",
        "an axis that is none": "INVALID_ARGUMENT concat: axis "rows" of shape [2, 3]. Use -2 to 1.",
        "an axis that is not there": "INVALID_ARGUMENT concat: axis 2 of shape [2, 3]. Use -2 to 1.",
        "an output of another shape": "SHAPE_MISMATCH concat: out is float32 [2, 3] tensor #n on cpu and the result has shape [4, 3]. Allocate it with that shape.",
        "an output that is read": "OVERLAP concat: the output float32 [2, 3] tensor #n on cpu shares memory with the input float32 [1, 3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "counts that are none": "INVALID_ARGUMENT tile: the repetitions are "two". Pass a count for the last axis, or an array of counts.",
        "extents that differ": "SHAPE_MISMATCH concat: float32 [2, 3] tensor #n on cpu and float32 [2, 2] tensor #n on cpu differ beside axis 0. All extents but that of the axis must be equal; broadcastTo() or reshape() one of them.",
        "flip along no axis": "INVALID_ARGUMENT flip: axis 2 of shape [2, 3]. Use -2 to 1.",
        "flip along one axis twice": "INVALID_ARGUMENT flip: axes [0, -2] of shape [2, 3] name one axis twice. Name each once.",
        "half counts": "INVALID_ARGUMENT tile: 0.5 repetitions. Pass counts of 0 or more, one for each of the last axes.",
        "half widths": "INVALID_ARGUMENT pad: width 0.5 in [0.5, 1]. Pass counts of 0 or more; slice() takes elements away.",
        "negative counts": "INVALID_ARGUMENT tile: -1 repetitions. Pass counts of 0 or more, one for each of the last axes.",
        "negative widths": "INVALID_ARGUMENT pad: width -1. Pass counts of 0 or more; slice() takes elements away.",
        "no parts": "INVALID_ARGUMENT split: the sections are 0. Pass how many equal parts, from 1 to 2^20, or an array of their sizes.",
        "no tensors": "INVALID_ARGUMENT concat: the array of tensors is empty. Pass at least one.",
        "pad of nothing": "INVALID_ARGUMENT pad: x: expected a tensor, got undefined. Make one with tensor(data).",
        "parts that do not fit": "SHAPE_MISMATCH split: axis 1 of shape [2, 3] has 3 elements, which are not 2 equal parts. Pass an array of sizes that add up to 3.",
        "rank 0": "SHAPE_MISMATCH concat: float32 [] tensor #n on cpu has no axis to join along. Use stack([...]) for tensors of rank 0.",
        "ranks that differ": "SHAPE_MISMATCH concat: float32 [2, 3] tensor #n on cpu and float32 [3] tensor #n on cpu differ beside axis 0. All extents but that of the axis must be equal; broadcastTo() or reshape() one of them.",
        "sections that are none, of what is pending": "INVALID_ARGUMENT split: the sections are "two". Pass how many equal parts, from 1 to 2^20, or an array of their sizes.",
        "sizes that are none": "INVALID_ARGUMENT split: size 2.5 in [2.5, -0.5]. Pass sizes of 0 or more that add up to 2.",
        "sizes that do not fit": "SHAPE_MISMATCH split: sizes [1, 1] add up to 2, and axis 1 of shape [2, 3] has 3 elements. Pass sizes that add up to 3.",
        "something else": "INVALID_ARGUMENT concat: tensor 0: expected a tensor, got an array of 2. Make one with tensor(data).",
        "split along no axis": "INVALID_ARGUMENT split: axis 5 of shape [2, 3]. Use -2 to 1.",
        "split of nothing": "INVALID_ARGUMENT split: x: expected a tensor, got null. Make one with tensor(data).",
        "tensors as arguments": "INVALID_ARGUMENT concat: the tensors are a Tensor. Pass an array of them, as concat([a, b]).",
        "tile of nothing": "INVALID_ARGUMENT tile: x: expected a tensor, got 3. Make one with tensor(data).",
        "too many pairs": "SHAPE_MISMATCH pad: 3 pairs of widths for float32 [2, 3] tensor #n on cpu, which has 2 axes. Pass one pair for each axis, or one for all.",
        "widths of three": "INVALID_ARGUMENT pad: the widths are [1, 2, 3]. Pass a number, a pair [before, after], or a pair for each axis.",
        "widths that are none": "INVALID_ARGUMENT pad: the widths are "all". Pass a number, a pair [before, after], or a pair for each axis.",
      }
    `);
  });
});

describe('arguments of other libraries', () => {
  it('are refused by transpose and flip, which would ignore them', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { device: 'cpu' },
    );
    const more = (...given: readonly unknown[]): never[] => given as never[];
    expect(() => x.transpose(...more(0, 1))).toThrow(
      /transpose: \[0, 1\] is more than it takes\. Call permute/,
    );
    expect(() => x.flip(0, ...more(1))).toThrow(
      /flip: \[1\] is more than it takes\. Pass several axes as one array/,
    );
    await expect(x.add(1).transpose(...more(0, 1))).rejects.toThrow(/Call permute/);
    expect(() => (x.softmax as (...given: unknown[]) => unknown)(-1, { out: x })).toThrow(
      /softmax: \[an object\] is more than it takes\. Pass the axis alone/,
    );
  });
});

describe('more than there can be', () => {
  it('is refused at once', async () => {
    const x = tensor([1, 2], { device: 'cpu' });
    const none = await tensor(new Float32Array(0), { device: 'cpu' });
    for (const one of [x, none]) {
      expect(() => one.split(1e9)).toThrow(
        'split: the sections are 1000000000. Pass how many equal parts, from 1 to 2^20',
      );
    }
  });
});

describe('parts of a tensor that fails', () => {
  it('reject where they are used, and are no unhandled rejections where they are not', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const x = await tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { device: 'cpu' },
      );
      const [first] = x.add(1).split(3);
      await expect(first).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});
