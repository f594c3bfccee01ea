import type { DType } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import {
  argSort,
  concat,
  cumSum,
  empty,
  full,
  pad,
  sort,
  stack,
  take,
  takeAlongAxis,
  tensor,
  tile,
  topK,
  type Device,
  type OutOption,
  type Tensor,
} from '../index.js';

type Prepared = (x: Tensor, options?: OutOption) => Tensor;

/** A call on one tensor of shape (3, 4), and its prepared form. */
interface Case {
  readonly call: (x: Tensor) => PromiseLike<Tensor>;
  readonly prepare: (x: Tensor) => Promise<Prepared>;
}

const DTYPES: readonly DType[] = ['float32', 'int64', 'bool'];

/** Operations that move, sort and add up elements, as prepared calls. */
export function preparedShapingSuite(where: () => Device): void {
  const made = (dtype: DType, values: readonly number[]): Promise<Tensor> =>
    tensor(
      [0, 4, 8].map((start) => values.slice(start, start + 4)),
      { dtype, device: where() },
    );
  const one = (dtype: DType) => made(dtype, [3, 1, 2, 1, 0, 7, 7, 5, 9, 8, 4, 6]);
  const other = (dtype: DType) => made(dtype, [5, 5, 0, 2, 6, 1, 3, 0, 1, 2, 9, 4]);

  const CASES: Readonly<Record<string, Case>> = {
    concat: {
      call: (x) => concat([x, x], 1),
      prepare: async (x) => {
        const run = await concat.prepare([x, x], 1);
        return (y, o) => run([y, y], o);
      },
    },
    stack: {
      call: (x) => stack([x, x], -1),
      prepare: async (x) => {
        const run = await stack.prepare([x, x], -1);
        return (y, o) => run([y, y], o);
      },
    },
    tile: { call: (x) => tile(x, [2, 3]), prepare: (x) => tile.prepare(x, [2, 3]) },
    pad: {
      call: (x) => pad(x, [1, 2], { value: 1 }),
      prepare: (x) => pad.prepare(x, [1, 2], { value: 1 }),
    },
    take: {
      call: async (x) => take(x, await indices([-1, 0, 2]), 1),
      prepare: async (x) => {
        const by = await indices([-1, 0, 2]);
        const run = await take.prepare(x, await indices([0, 0, 1]), 1);
        return (y, o) => run(y, by, o);
      },
    },
    takeAlongAxis: {
      call: async (x) => takeAlongAxis(x, await indices([[3], [0], [1]])),
      prepare: async (x) => {
        const by = await indices([[3], [0], [1]]);
        const run = await takeAlongAxis.prepare(x, await indices([[0], [0], [0]]));
        return (y, o) => run(y, by, o);
      },
    },
    cumSum: { call: (x) => cumSum(x, 0), prepare: (x) => cumSum.prepare(x, 0) as never },
    argSort: {
      call: (x) => argSort(x, 0, { descending: true }),
      prepare: (x) => argSort.prepare(x, 0, { descending: true }) as never,
    },
    sort: { call: (x) => sort(x), prepare: (x) => sort.prepare(x) },
  };
  const indices = (data: number[] | number[][]): Promise<Tensor<'int32'>> =>
    tensor(data, { dtype: 'int32', device: where() });

  describe('prepared calls of operations that move, sort and add up elements', () => {
    it.each(Object.entries(CASES))('%s gives the same bits, into out too', async (_, the) => {
      for (const dtype of DTYPES) {
        using x = await one(dtype);
        using y = await other(dtype);
        const run = await the.prepare(x);
        for (const given of [x, y]) {
          using ordinary = await the.call(given);
          const wanted = await ordinary.toTypedArray();
          using result = run(given);
          expect([result.shape, result.dtype]).toEqual([ordinary.shape, ordinary.dtype]);
          expect(await result.toTypedArray()).toEqual(wanted);
          using out = empty(ordinary.shape, { dtype: ordinary.dtype, device: where() });
          expect(run(given, { out })).toBe(out);
          expect(await out.toTypedArray()).toEqual(wanted);
        }
      }
    });

    it('topK gives the same bits, into out too', async () => {
      for (const dtype of DTYPES) {
        using x = await one(dtype);
        using y = await other(dtype);
        const run = await topK.prepare(x, 2, 0, { largest: false });
        const wanted = await topK(y, 2, 0, { largest: false });
        const read = async ({ values, indices: places }: typeof wanted) => [
          await values.toTypedArray(),
          await places.toTypedArray(),
        ];
        const bits = await read(wanted);
        expect(await read(run(y))).toEqual(bits);
        for (const call of ['ordinary', 'prepared'] as const) {
          const out = {
            values: empty([2, 4], { dtype, device: where() }),
            indices: empty([2, 4], { dtype: 'int32', device: where() }),
          } as const;
          const result =
            call === 'prepared' ? run(y, { out }) : await topK(y, 2, 0, { largest: false, out });
          expect(result.values).toBe(out.values);
          expect(result.indices).toBe(out.indices);
          expect(await read(out)).toEqual(bits);
        }
      }
    });

    it('topK takes all elements, or fewer, whichever it was prepared for', async () => {
      // 5 and 6 elements are sorted by the same kernels on GPUs, where rows are filled up to a power of two
      const rows = [3, 1, 2, 1, 0, 7].map((value) => [value, 7, 5, 9, 8, 4]);
      using x = await tensor(rows, { device: where() });
      using five = await x.slice(null, [0, 5]).clone();
      for (const [example, other] of [
        [x, five],
        [five, x],
      ] as const) {
        const run = await topK.prepare(example, 5);
        for (const given of [example, other]) {
          const [found, wanted] = [run(given), await topK(given, 5)];
          expect(await found.values.toNested()).toEqual(await wanted.values.toNested());
          expect(await found.indices.toNested()).toEqual(await wanted.indices.toNested());
        }
      }
    });

    it('topK takes tensors of three axes, along each of them', async () => {
      const data = Float32Array.from({ length: 60 }, (_, n) => (n * 37) % 61);
      using x = await tensor(data, { shape: [3, 4, 5], device: where() });
      for (const axis of [0, 1, 2]) {
        for (const k of [2, x.shape[axis] as number]) {
          const run = await topK.prepare(x, k, axis);
          const [found, wanted] = [run(x), await topK(x, k, axis)];
          expect(await found.values.toNested()).toEqual(await wanted.values.toNested());
          expect(await found.indices.toNested()).toEqual(await wanted.indices.toNested());
        }
      }
    });

    it('topK writes no result where another is not row-major', async () => {
      using x = await one('float32');
      const run = await topK.prepare(x, 2);
      using indices = await full([3, 2], -1, { dtype: 'int32', device: where() });
      using values = empty([2, 3], { dtype: 'float32', device: where() });
      expect(() => run(x, { out: { indices, values: values.transpose() } })).toThrow(
        /topK: .* is not row-major/,
      );
      expect(await indices.toNested()).toEqual([
        [-1, -1],
        [-1, -1],
        [-1, -1],
      ]);
    });

    it('keep no memory but their results', async () => {
      using x = await one('int64');
      const calls = await Promise.all(Object.values(CASES).map(({ prepare }) => prepare(x)));
      const top = await topK.prepare(x, 2);
      const kept = await memoryKept(where(), () => {
        for (const call of calls) call(x).dispose();
        for (const result of Object.values<Tensor>({ ...top(x) })) result.dispose();
        expect(() => top(x.slice([0, 2], [0, 1]))).toThrow(/topK: k is 2/);
        return Promise.resolve();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('read what calls made before them write', async () => {
      using x = await full([3, 4], 0, { device: where() });
      using y = await one('float32');
      const sorted = await sort.prepare(x);
      const top = await topK.prepare(x, 1);
      const copied = x.copyFrom(y);
      const [all, { values }] = [sorted(x), top(x)];
      await copied;
      expect(await all.toNested()).toEqual(await y.sort().toNested());
      expect(await values.toNested()).toEqual([[3], [7], [9]]);
    });
  });
}
