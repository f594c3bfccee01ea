import type { ReductionKind } from '@mercer/formula';
import { empty, tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  genred,
  gradient,
  jointReduction,
  LazyError,
  lazyI,
  lazyJ,
  lazyPair,
  type LazyTensor,
  param,
  rangesFromMatrix,
  valueAndGradients,
  type RangesOption,
} from './index.js';
import { sumOf, UNIT } from './bounded.test-support.js';
import { numbersOf } from './keops/oracle.test-support.js';
import { numbers, upload } from './reference.test-support.js';
import { expectSlopes, gradientByLoops } from './slopes.test-support.js';

const [M, N] = [13, 31];
const RANGES = rangesFromMatrix(
  [
    [2, 5],
    [7, 12],
  ],
  [
    [1, 4],
    [4, 9],
    [20, 30],
  ],
  [
    [1, 1, 0],
    [0, 1, 0],
  ],
);

/** Whether row i meets row j, written out for the ranges above. */
function meets(i: number, j: number): boolean {
  if (i >= 2 && i < 5) return j >= 1 && j < 9;
  return i >= 7 && i < 12 && j >= 4 && j < 9;
}

/** The sum of products that are rounded themselves, within the published bound. */
function expectSum(found: number | undefined, terms: readonly number[]): void {
  const unit = UNIT.float64;
  const { value, error } = sumOf(
    terms.map((term) => ({ value: term, error: unit * Math.abs(term) })),
    unit,
  );
  expect(Math.abs((found ?? NaN) - value)).toBeLessThanOrEqual(error);
}

/** What a kind asks for beside a formula. Weights are of the side that is reduced: else they are the same in every term. */
const given = (kind: ReductionKind, reduced: LazyTensor): { weight?: LazyTensor; k?: number } => ({
  ...(kind === 'SumSoftMaxWeight' && { weight: reduced.square() }),
  ...(kind === 'KMin' && { k: 2 }),
});

/**
 * Block-sparse reductions give what the pairs that meet give, and empty results elsewhere. `full`: gradients of gradients
 * over both sides, else over either.
 */
export function describeRanges(device: () => Device, { full }: { readonly full: boolean }): void {
  describe('ranges', () => {
    const data = [numbers(1, M, 1, { batch: [2] }), numbers(2, N, 1)] as const;
    const value = (entry: number, i: number, j: number): number =>
      (data[0].values[entry * M + i] ?? NaN) * (data[1].values[j] ?? NaN);
    const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
    const met = (entry: number, i: number): number[] =>
      upTo(N)
        .filter((j) => meets(i, j))
        .map((j) => value(entry, i, j));

    it('reduce over either side, with batches', async () => {
      const [x, y] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const product = lazyI(x!).mul(lazyJ(y!));
      const sums = await (await product.sum('j', { ranges: RANGES })).toTypedArray();
      const least = await (await product.min('j', { ranges: RANGES })).toTypedArray();
      for (const entry of [0, 1]) {
        for (const i of upTo(M)) {
          const terms = met(entry, i);
          expectSum(sums[entry * M + i], terms);
          expect(least[entry * M + i]).toBe(Math.min(...terms));
        }
      }
      const columns = await (await product.sum('i', { ranges: RANGES })).toTypedArray();
      for (const j of upTo(N)) {
        const rows = upTo(M).filter((i) => meets(i, j));
        expectSum(
          columns[N + j],
          rows.map((i) => value(1, i, j)),
        );
      }
    });

    it('reach gradients and formulas in text', async () => {
      const y = await upload(data[1], 'float64', device());
      const x = await tensor(data[0].values.subarray(0, M), { shape: [M, 1], device: device() });
      const b = lazyJ(y);
      const of = lazyI(x).mul(b).reduction('Sum', 'j');
      const ones = await tensor(new Float64Array(M).fill(1), { shape: [M, 1], device: device() });
      const byY = await (await gradient(of, b, ones, { ranges: RANGES })).toTypedArray();
      for (const j of upTo(N)) {
        const rows = upTo(M).filter((i) => meets(i, j));
        expectSum(
          byY[j],
          rows.map((i) => data[0].values[i] ?? NaN),
        );
      }
      const f = genred('x * y', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'j' });
      const found = await f(x, y, { ranges: RANGES });
      expect(await found.toNested()).toEqual(
        await (await lazyI(x).mul(b).sum('j', { ranges: RANGES })).toNested(),
      );
    });

    it.each(['Mean', 'Var'] as const)(
      'of a gradient of %s are what it is divided by',
      async (kind) => {
        const y = lazyJ(await tensor([[1], [2], [3], [4]], { device: device() }));
        const ranges = rangesFromMatrix([[0, 1]], [[0, 2]], [[1]]);
        const of = y.reduction(kind, 'j');
        const wanted = kind === 'Mean' ? [[0.5], [0.5], [0], [0]] : [[-0.5], [0.5], [0], [0]];
        const found = await gradient(of, y, [[1]], { ranges });
        expect(await found.toNested()).toEqual(wanted);
        const { gradients } = await valueAndGradients(of, { y }, { ranges });
        expect(await gradients.y.toNested()).toEqual(wanted);
      },
    );

    const otherSides: readonly [ReductionKind, 'i' | 'j', 1 | 2][] = [
      ['Mean', 'i', 2],
      ['Var', 'j', 2],
    ];
    it.each<[ReductionKind, 'i' | 'j', 1 | 2]>([
      ...(full ? otherSides : []),
      ['Mean', 'j', 2],
      ['Var', 'i', 2],
      ['Sum', 'j', 1],
      ['Prod', 'i', 1],
      ['LogSumExp', 'j', 1],
      ['SumSoftMaxWeight', 'i', 1],
      ['Max', 'j', 1],
      ['KMin', 'i', 1],
    ])('reach gradients of %s over %s, up to order %i, with batches', async (kind, axis, order) => {
      const inputs = { a: data[0], b: data[1], scale: numbers(3, 1, 1, { low: 0.5 }) };
      const [x, y, p] = await Promise.all(
        Object.values(inputs).map((one) => upload(one, 'float64', device())),
      );
      const [a, b, scale] = [lazyI(x!), lazyJ(y!), param(p!.reshape([1]))];
      const variables = { a, b, scale };
      const once = a.mul(b).mul(scale).sin();
      const seeds = numbers(4, axis === 'j' ? M : N, kind === 'KMin' ? 2 : 1, { batch: [2] });
      const cotangent = await upload(seeds, 'float64', device());
      for (const formula of [once, once.grad(a)].slice(0, order)) {
        const of = formula.reduction(kind, axis, given(kind, axis === 'j' ? b : a));
        for (const [name, variable] of Object.entries(variables)) {
          const found = await gradient(of, variable, cotangent, { ranges: RANGES });
          const wanted = gradientByLoops(
            {
              kind,
              axis,
              k: 2,
              rowsI: M,
              rowsJ: N,
              meets,
              term: ({ i, j, row }) => {
                const [[u], [v], [s]] = [row('a', i), row('b', j), row('scale')];
                const angle = u!.times(v!).times(s!);
                return {
                  formula: [formula === once ? angle.sin() : angle.cos().times(v!).times(s!)],
                  ...(kind === 'SumSoftMaxWeight' && {
                    weight: [(axis === 'j' ? v : u)!.squared()],
                  }),
                };
              },
            },
            inputs,
            name,
            seeds,
          );
          expectSlopes(await numbersOf(found), wanted);
        }
      }
      const of = once.reduction('Mean', axis);
      if (kind !== 'Mean') return;
      const options = { ranges: RANGES, cotangent };
      const together = await valueAndGradients(of, variables, options);
      for (const [name, variable] of Object.entries(variables)) {
        const alone = await gradient(of, variable, cotangent, { ranges: RANGES });
        const found = await numbersOf(together.gradients[name as 'a']);
        expectSlopes(found, Array.from(await numbersOf(alone)));
      }
    });

    const NOTHING_MEETS = rangesFromMatrix([[0, M]], [[0, N]], [[0]]);
    const ALL_MEET = rangesFromMatrix([[0, M]], [[0, N]], [[1]]);
    const PAIR_KINDS: readonly [ReductionKind, 'i' | 'j'][] = [
      ['Sum', 'j'],
      ['Sum', 'i'],
      ['Mean', 'i'],
      ['Var', 'j'],
      ['Prod', 'i'],
      ['LogSumExp', 'j'],
      ['SumSoftMaxWeight', 'i'],
      ['Max', 'j'],
      ['KMin', 'i'],
    ];
    it.each(PAIR_KINDS)(
      'reach gradients by values of pairs of %s over %s, which are 0 outside',
      async (kind, axis) => {
        const sets: readonly [RangesOption, (i: number, j: number) => boolean][] = [
          [RANGES, meets],
          [NOTHING_MEETS, () => false],
          [ALL_MEET, () => true],
        ];
        const some = full || ['Mean', 'Max'].includes(kind) ? sets : sets.slice(0, 1);
        for (const [ranges, isMet] of some) {
          const m = numbers(5, M * N, 1, { low: 0.5 });
          // what is outside is not read, nor is its derivative
          for (const at of m.values.keys()) {
            if (!isMet(Math.floor(at / N), at % N)) m.values[at] = NaN;
          }
          const inputs = { a: data[0], b: data[1], m };
          const seeds = numbers(4, axis === 'j' ? M : N, kind === 'KMin' ? 2 : 1, { batch: [2] });
          const [x, y, stored, cotangent] = await Promise.all(
            [...Object.values(inputs), seeds].map((one) => upload(one, 'float64', device())),
          );
          const [a, b, pairs] = [lazyI(x!), lazyJ(y!), lazyPair(stored!.reshape([M, N]))];
          const of = pairs
            .square()
            .mul(a)
            .mul(b)
            .sin()
            .reduction(kind, axis, given(kind, axis === 'j' ? b : a));
          const wanted = gradientByLoops(
            {
              kind,
              axis,
              k: 2,
              rowsI: M,
              rowsJ: N,
              meets: isMet,
              term: ({ i, j, row }) => {
                const [[u], [v], [w]] = [row('a', i), row('b', j), row('m', i * N + j)];
                return {
                  formula: [w!.squared().times(u!).times(v!).sin()],
                  ...(kind === 'SumSoftMaxWeight' && {
                    weight: [(axis === 'j' ? v : u)!.squared()],
                  }),
                };
              },
            },
            inputs,
            'm',
            seeds,
          );
          const byPair = await gradient(of, pairs, cotangent!, { ranges });
          expect(byPair.shape).toEqual([M, N]);
          const found = await numbersOf(byPair);
          expectSlopes(found, wanted);
          for (const at of upTo(M * N)) {
            if (!isMet(Math.floor(at / N), at % N)) expect(found[at]).toBe(0);
          }
          const { gradients } = await valueAndGradients(
            of,
            { pairs, b },
            { ranges, cotangent: cotangent! },
          );
          expect(await numbersOf(gradients.pairs)).toEqual(found);
        }
      },
    );

    it('reach gradients by values of pairs with batches and components, into out', async () => {
      const stored = await upload(numbers(6, M * N, 2, { batch: [2] }), 'float32', device());
      const pairs = lazyPair(stored.reshape([2, M, N, 2]), { components: true });
      const x = await upload(numbers(7, M, 2), 'float32', device());
      // ranges of one direction, whose rows are in no order, with a span that is empty
      const ranges = {
        rangesI: [
          [8, 10],
          [0, 3],
        ],
        slicesI: [1, 4],
        redrangesJ: [
          [30, 31],
          [12, 20],
          [7, 7],
          [0, 5],
        ],
      } as const;
      const isMet = (i: number, j: number): boolean =>
        (i >= 8 && i < 10 && j === 30) || (i < 3 && (j < 5 || (j >= 12 && j < 20)));
      const of = pairs.mul(lazyI(x)).reduction('Sum', 'j');
      const seeds = numbers(8, M, 2, { batch: [2] });
      const cotangent = await upload(seeds, 'float32', device());
      const out = empty([2, M, N, 2], { device: device() });
      expect(await gradient(of, pairs, cotangent, { ranges, out })).toBe(out);
      const [found, rows] = [await out.toTypedArray(), await x.toTypedArray()];
      for (const at of upTo(2 * M * N * 2)) {
        const [c, j, i] = [at % 2, Math.floor(at / 2) % N, Math.floor(at / (2 * N)) % M];
        const entry = Math.floor(at / (2 * N * M));
        const slope = seeds.values[(entry * M + i) * 2 + c]! * rows[i * 2 + c]!;
        expect(found[at]).toBe(isMet(i, j) ? Math.fround(slope) : 0);
      }
    });

    it('reach gradients by values of pairs with ends of slices in a typed array', async () => {
      const pairs = lazyPair(await upload(numbers(5, M, N), 'float64', device()));
      const of = pairs.square().reduction('Sum', 'j');
      const ones = await tensor(new Float64Array(M).fill(1), { shape: [M, 1], device: device() });
      const wanted = await gradient(of, pairs, ones, { ranges: RANGES });
      const ranges = { ...RANGES, slicesI: Int32Array.from(RANGES.slicesI) };
      // @ts-expect-error programs in JavaScript may pass any list
      const found = await gradient(of, pairs, ones, { ranges });
      expect(await found.toNested()).toEqual(await wanted.toNested());
    });

    it('that are tables on the device reach gradients by values of pairs', async () => {
      const pairs = lazyPair(await upload(numbers(5, M, N), 'float64', device()));
      const of = pairs.square().reduction('Sum', 'j');
      const redrangesJ = await tensor(RANGES.redrangesJ.flat().map(BigInt), {
        shape: [RANGES.redrangesJ.length, 2],
        dtype: 'int64',
        device: device(),
      });
      const ones = await tensor(new Float64Array(M).fill(1), { shape: [M, 1], device: device() });
      const wanted = await gradient(of, pairs, ones, { ranges: RANGES });
      const { rangesI, slicesI } = RANGES;
      const ranges = { rangesI, slicesI, redrangesJ };
      const found = await gradient(of, pairs, ones, { ranges });
      expect(await found.toNested()).toEqual(await wanted.toNested());
    });

    it('are kept on the device by prepared calls, of any batch', async () => {
      const [x, y] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const f = genred('x * y', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'i' });
      const wanted = await (await f(x!, y!, { ranges: RANGES })).toTypedArray();
      const kept = await memoryKept(device(), async () => {
        const { liveBytes } = device().memory();
        const prepared = await f.prepare(x!, y!, { ranges: RANGES });
        await device().synchronize();
        expect(device().memory().liveBytes).toBeGreaterThan(liveBytes);
        const keptByCalls = await memoryKept(device(), async () => {
          for (let call = 0; call < 2; call++) {
            using sums = prepared([x!, y!]);
            expect(await sums.toTypedArray()).toEqual(wanted);
          }
          {
            // Without the batch axis.
            using first = x!.slice(0);
            using sums = prepared([first, y!]);
            expect(await sums.toTypedArray()).toEqual(wanted.slice(0, N));
          }
          await device().synchronize();
        });
        expect(keptByCalls).toEqual(NOTHING);
        using fewer = y!.slice([0, N - 1]);
        expect(() => prepared([x!, fewer])).toThrow(
          /prepared with ranges for 13 rows of i and 31 of j, called with 13 rows of i and 30 of j/,
        );
        prepared.dispose();
        expect(() => prepared([x!, y!])).toThrow(/was disposed, and its ranges with it/);
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('of prepared calls reach every pass of several reductions', async () => {
      const x = lazyI(await upload(data[0], 'float64', device()));
      const y = lazyJ(await upload(data[1], 'float64', device()));
      const long = y.repeat(70);
      const parts = { sum: x.mul(y).reduction('Sum', 'j'), many: long.reduction('Max', 'j') };
      using prepared = await jointReduction(parts).prepare([], { ranges: RANGES });
      expect(prepared.plans).toHaveLength(2);
      const { sum, many } = prepared([]);
      const alone = await parts.sum.call([], { ranges: RANGES });
      expect(await sum.toNested()).toEqual(await alone.toNested());
      const found = await many.toTypedArray();
      // A formula of y alone still has the rows of x.
      for (const i of upTo(M)) {
        const rows = upTo(N).filter((j) => meets(i, j));
        const want = Math.max(...rows.map((j) => data[1].values[j] ?? NaN));
        expect(found[i * 70 + 69]).toBe(want);
      }
    });

    it('are refused by prepare, and nothing stays', async () => {
      const x = lazyI(await upload(data[0], 'float32', device()));
      const of = x.mul(lazyJ(await upload(data[1], 'float32', device()))).reduction('Sum', 'j');
      const kept = await memoryKept(device(), async () => {
        const outside = { rangesI: [[0, M + 1]], slicesI: [0], redrangesJ: [] } as const;
        await expect(of.prepare([], { ranges: outside })).rejects.toThrow(/\[0, 14\].*13 rows/);
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('are refused where they do not fit, with the values', async () => {
      const product = lazyI(await upload(data[0], 'float32', device())).mul(
        lazyJ(await upload(data[1], 'float32', device())),
      );
      const outside = { rangesI: [[0, M + 1]], slicesI: [0], redrangesJ: [] } as const;
      await expect(product.sum('j', { ranges: outside })).rejects.toThrow(LazyError);
      await expect(product.sum('j', { ranges: outside })).rejects.toThrow(/\[0, 14\].*13 rows/);
      const oneWay = { rangesI: [[0, M]], slicesI: [0], redrangesJ: [] } as const;
      await expect(product.sum('i', { ranges: oneWay })).rejects.toThrow(/have no rangesJ/);
    });
  });
}
