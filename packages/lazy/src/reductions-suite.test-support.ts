import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { empty, isTensor, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { everyPartMeaning } from './every-part.test-support.js';
import {
  genred,
  jointReduction,
  lazyI,
  lazyJ,
  type LazyAxis,
  type LazyDType,
  type ReduceOptions,
} from './index.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  upload,
  wholeNumbers,
  type Meaning,
  type Numbers,
} from './reference.test-support.js';

/** Results of any kind by name. */
export function byName(result: unknown): { value?: Tensor; index?: Tensor } {
  if (!isTensor(result)) {
    const { values, indices } = result as { values: Tensor; indices: Tensor };
    return { value: values, index: indices };
  }
  return result.dtype === 'int32' ? { index: result } : { value: result };
}

const NEEDS_WEIGHT: readonly ReductionKind[] = ['SumSoftMaxWeight', 'MaxSumShiftExp'];

const EXACT: readonly ReductionKind[] = REDUCTION_KINDS.filter(
  (kind) => /Min|Max|Any|All|Count/.test(kind) && !NEEDS_WEIGHT.includes(kind),
);

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly batchX?: readonly number[];
  readonly batchY?: readonly number[];
}

const SIZES: readonly Sizes[] = [
  { m: 9, n: 40 },
  { m: 3, n: 0 },
  { m: 0, n: 4 },
  { m: 5, n: 7, batchX: [3, 1], batchY: [2] },
];

/**
 * More reduced rows than a task of a CPU takes where there are few, and than a block of a GPU; four times the kept rows are results, and
 * no fewer than parts.
 */
const MANY_ROWS = {
  cpu: { kept: 4, terms: 10_000 },
  gpu: { kept: 16, terms: 70_000 },
} as const;

/** Every reduction; `full`: over both sides in both dtypes, else the sides and dtypes in turn. */
export function describeReductions(device: () => Device, { full = false } = {}): void {
  const combinations = [
    ['i', 'float32'],
    ['j', 'float64'],
    ['j', 'float32'],
    ['i', 'float64'],
  ] as const satisfies (readonly [LazyAxis, LazyDType])[];
  const cases = REDUCTION_KINDS.flatMap((kind, at) =>
    combinations
      .filter((_, which) => full || kind === 'Sum' || which === at % 4)
      .map(([axis, dtype]) => [kind, axis, dtype] as const),
  );

  describe('reductions', () => {
    const check = async (
      kind: ReductionKind,
      axis: LazyAxis,
      dtype: LazyDType,
      { m, n, batchX = [], batchY = [] }: Sizes,
    ): Promise<void> => {
      const isWhole = EXACT.includes(kind);
      const make = (seed: number, rows: number, dim: number, batch: readonly number[]): Numbers =>
        isWhole ? wholeNumbers(seed, rows, dim, batch) : numbers(seed, rows, dim, { batch });
      const data = [make(1, m, 2, batchX), make(2, n, 2, batchY), make(3, n, 3, batchY)] as const;
      const tensors: Tensor<LazyDType>[] = [];
      for (const one of data) tensors.push(await upload(one, dtype, device()));
      const isScalar = traitsOf(kind).isExponential;
      const meaning: Meaning = {
        kind,
        axis,
        ...(traitsOf(kind).takesK && { k: 3 }),
        variables: [
          { data: data[0], side: 'i' },
          { data: data[1], side: 'j' },
          { data: data[2], side: 'j' },
        ],
        formula: (x, y) => (isScalar ? x.sub(y).sum() : x.sub(y)),
        ...(NEEDS_WEIGHT.includes(kind) && { weight: (_x, _y, g) => g.square() }),
      };
      const reduction = lazyReduction(meaning, tensors);
      const wanted = reference(meaning, dtype);
      const found = byName(await reduction.call());
      const kept = axis === 'j' ? m : n;
      expect((found.value ?? found.index)?.shape).toEqual([...wanted.batch, kept, reduction.dim]);
      await expectResult(found, wanted);
      for (const one of tensors) one.dispose();
    };

    it.each(cases)('%s over %s in %s', async (kind, axis, dtype) => {
      for (const sizes of SIZES) await check(kind, axis, dtype, sizes);
    });

    // parts of the reduced rows are merged, and each of them matters: see everyPartMeaning
    it.each(
      REDUCTION_KINDS.map(
        (kind, at) => [kind, ...(combinations[at % 4] ?? combinations[0])] as const,
      ),
    )('%s over %s in %s, of many rows for each', async (kind, axis, dtype) => {
      const meaning = everyPartMeaning(kind, axis, MANY_ROWS[full ? 'gpu' : 'cpu']);
      const tensors = await Promise.all(
        meaning.variables.map(({ data }) => upload(data, dtype, device())),
      );
      const found = byName(await lazyReduction(meaning, tensors).call());
      await expectResult(found, reference(meaning, dtype));
      for (const one of tensors) one.dispose();
    });

    it('weights a LogSumExp, and takes parameters with batch axes', async () => {
      const data = [
        numbers(1, 6, 2, { batch: [2, 1] }),
        numbers(2, 11, 2, { batch: [3] }),
        numbers(3, 1, 1, { batch: [2, 3] }),
        numbers(4, 11, 2, { low: 0.5, high: 2 }),
      ] as const;
      const tensors = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const [x, y, p, g] = data;
      const meaning: Meaning = {
        kind: 'LogSumExp',
        axis: 'j',
        variables: [
          { data: x, side: 'i' },
          { data: y, side: 'j' },
          { data: p, side: 'parameter' },
          { data: g, side: 'j' },
        ],
        formula: (x, y, p) => x.sqdist(y).mul(p),
        weight: (_x, _y, _p, g) => g,
      };
      const found = await lazyReduction(meaning, tensors).call();
      expect((found as Tensor).shape).toEqual([2, 3, 6, 2]);
      await expectResult({ value: found as Tensor }, reference(meaning, 'float64'));
    });

    it('adds up in float64, or with compensation, where that is asked for', async () => {
      // 1, then terms that float32 loses one by one.
      const terms = new Float32Array(20_001).fill(2 ** -25).fill(1, 0, 1);
      const y = lazyJ(await tensor(terms, { shape: [20_001, 1], device: device() }));
      const wanted = 1 + 20_000 * 2 ** -25;
      const sum = async (options: ReduceOptions<Tensor<'float32'>>): Promise<number> =>
        (await (await y.sum('j', options)).toTypedArray())[0] ?? NaN;
      expect(await sum({ sumScheme: 'kahan' })).toBe(Math.fround(wanted));
      expect(await sum({ accumulate: 'float64', sumScheme: 'direct' })).toBe(Math.fround(wanted));
      await expect(y.min('j', { sumScheme: 'kahan' })).rejects.toThrow(/Min takes neither/);
      const prepared = await y.reduction('Sum', 'j').prepare([], { sumScheme: 'kahan' });
      expect(await prepared([]).toNested()).toEqual([[Math.fround(wanted)]]);
      // Formulas that are too long to be written out: of one column and of many.
      const long = lazyI(
        await tensor([Array<number>(150).fill(1), Array<number>(150).fill(2)], {
          device: device(),
        }),
      );
      for (const options of [
        { sumScheme: 'kahan' },
        { accumulate: 'float64', sumScheme: 'direct' },
      ] as const) {
        const one = await y.mul(long.elem(7)).sum('j', options);
        expect(await one.toNested()).toEqual([[Math.fround(wanted)], [Math.fround(2 * wanted)]]);
        const columns = await y.mul(long).mean('j', options);
        const found = new Set(await columns.slice([0, 1]).toTypedArray());
        expect([...found]).toEqual([Math.fround(wanted / 20_001)]);
      }
      // The first block of at most 256 terms is float32.
      const blocks = await y.mul(long).sum('j', { accumulate: 'float64' });
      for (const value of await blocks.slice([0, 1]).toTypedArray()) {
        expect(Math.abs(value - wanted)).toBeLessThan(256 * 2 ** -24);
      }
      await expect(long.sub(y).max('j', { sumScheme: 'kahan' })).rejects.toThrow(
        /Max takes neither/,
      );
    });

    // 5000 rows are no whole number of tiles; rows of no range, and of an empty one, have no terms
    it.each(['Sum', 'Mean'] as const)('adds up in float64 for every row: %s', async (kind) => {
      const place = { device: device() };
      const rows = Float32Array.from({ length: 5000 }, (_, i) => i);
      const x = lazyI(await tensor(rows, { shape: [5000, 1], ...place }));
      const y = lazyJ(await tensor([[1], [2], [4]], place));
      const product = x.mul(y).reduction(kind, 'j');
      const ranges = {
        rangesI: [
          [3, 4],
          [40, 611],
          [700, 4999],
        ],
        slicesI: [1, 2, 3],
        redrangesJ: [
          [0, 3],
          [1, 1],
          [1, 3],
        ],
      } as const;
      // sums of ones, fours and twos that the three ranges take
      const inRanges = (i: number): number => (i === 3 ? 7 : i >= 700 && i < 4999 ? 6 : 0);
      const terms = (i: number): number => (i === 3 ? 3 : i >= 700 && i < 4999 ? 2 : 0);
      const mean = kind === 'Mean';
      const all = Array.from(rows, (i) => Math.fround((7 * i) / (mean ? 3 : 1)));
      const some = Array.from(rows, (i) => (inRanges(i) * i) / (mean ? terms(i) : 1));
      for (const [sums, wanted] of [
        [{ accumulate: 'float64' }, all],
        [{ accumulate: 'float64', sumScheme: 'direct' }, all],
        [{ accumulate: 'float64', ranges }, some],
        [{ accumulate: 'float64', sumScheme: 'direct', ranges }, some],
        [{ sumScheme: 'kahan' }, all],
        [{ sumScheme: 'kahan', ranges }, some],
      ] as const) {
        const out = empty([5000, 1], place);
        const prepared = await product.prepare([], sums);
        const joint = jointReduction({ first: product, second: y.add(x).reduction('Sum', 'j') });
        for (const found of [
          await product.call([], sums),
          prepared([]),
          await product.call([], { ...sums, out }),
          (await joint.call([], sums)).first,
        ]) {
          expect([...(await found.toTypedArray())]).toEqual(wanted);
          found.dispose();
        }
      }
    });

    it('gives row numbers of 64 bits where they are asked for', async () => {
      const place = { device: device() };
      const x = lazyI(await tensor([[0], [5]], place));
      const y = lazyJ(await tensor([[4], [1], [7]], place));
      const distance = x.sub(y).abs();
      const indexDtype = 'int64' as const;
      const nearest = await distance.argMin('j', { indexDtype });
      expect(nearest.dtype).toBe('int64');
      expect(await nearest.toNested()).toEqual([[1n], [0n]]);
      const out = {
        values: empty([2, 4], place),
        indices: (
          await tensor(
            [
              [0n, 0n],
              [0n, 0n],
              [0n, 0n],
              [0n, 0n],
            ],
            place,
          )
        ).transpose(),
      };
      const both = await distance.kMinArgKMin(4, 'j', { indexDtype, out });
      expect(both).toEqual(out);
      expect(await out.indices.toNested()).toEqual([
        [1n, 0n, 2n, -1n],
        [0n, 2n, 1n, -1n],
      ]);
      const { far, sum } = await distance.reduceMany(
        'j',
        { far: 'ArgMax', sum: 'Sum' },
        { indexDtype },
      );
      expect(await far.toNested()).toEqual([[2n], [1n]]);
      expect(await sum.toNested()).toEqual([[12], [7]]);
      const text = genred('Abs(x - y)', ['x = Vi(1)', 'y = Vj(1)'], {
        reduction: 'ArgMin',
        axis: 'j',
      });
      const found = await text([[0]], [[4], [1]], { indexDtype, ...place });
      expect(await found.toNested()).toEqual([[1n]]);
    });

    it('gives row numbers of 64 bits from prepared calls, and keeps nothing beside them', async () => {
      const place = { device: device() };
      const x = lazyI({ position: 0, dim: 1 });
      const y = lazyJ({ position: 1, dim: 1 });
      const distance = x.sub(y).abs();
      const args = [await tensor([[0], [5]], place), await tensor([[4], [1], [7]], place)];
      const none = empty([0, 1], place);
      const indexDtype = 'int64' as const;
      const both = await distance
        .reduction('KMinArgKMin', 'j', { k: 2 })
        .prepare(args, { indexDtype });
      const joint = jointReduction({
        far: distance.reduction('ArgMax', 'j'),
        sum: distance.reduction('Sum', 'j'),
      });
      const prepared = await joint.prepare(args, { indexDtype });
      const kept = await memoryKept(device(), async () => {
        const out = {
          values: empty([2, 2], place),
          indices: empty([2, 2], { ...place, dtype: 'int64' }),
        };
        expect(both(args, { out })).toEqual(out);
        expect(await out.indices.toNested()).toEqual([
          [1n, 0n],
          [0n, 2n],
        ]);
        const { far, sum } = prepared(args);
        expect([far.dtype, await far.toNested()]).toEqual(['int64', [[2n], [1n]]]);
        expect(await sum.toNested()).toEqual([[12], [7]]);
        const ofNone = both([args[0]!, none]);
        expect(await ofNone.indices.toNested()).toEqual([
          [-1n, -1n],
          [-1n, -1n],
        ]);
        const noRows = both([none, args[1]!]);
        expect(noRows.indices.shape).toEqual([0, 2]);
        for (const one of [
          out.values,
          out.indices,
          far,
          sum,
          ofNone.values,
          ofNone.indices,
          noRows.values,
          noRows.indices,
        ]) {
          one.dispose();
        }
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('refuses prepared row numbers of another dtype', async () => {
      const place = { device: device() };
      const y = lazyJ(await tensor([[4], [1], [7]], place));
      const of = y.reduction('ArgMin', 'j');
      const int16 = 'int16' as 'int64';
      await expect(of.prepare([], { indexDtype: int16 })).rejects.toThrow(/indexDtype is "int16"/);
      const sum = y.reduction('Sum', 'j').prepare([], { indexDtype: 'int64' });
      await expect(sum).rejects.toThrow(/Sum gives none/);
      const [wide, narrow] = [await of.prepare([], { indexDtype: 'int64' }), await of.prepare()];
      const out32 = await tensor(new Int32Array([9]), { ...place, shape: [1, 1] });
      const out64 = await tensor(new BigInt64Array([9n]), { ...place, shape: [1, 1] });
      expect(() => wide([], { out: out32 as never })).toThrow(/out is int32.*result is int64/);
      expect(() => narrow([], { out: out64 as never })).toThrow(/out is int64.*result is int32/);
      expect([await out32.toNested(), await out64.toNested()]).toEqual([[[9]], [[9n]]]);
      const pairs = await tensor(new BigInt64Array([9n, 9n]), { ...place, shape: [2, 1] });
      const columns = pairs.broadcastTo([2, 2]).slice(null, [0, 1]);
      expect(() => wide([], { out: columns })).toThrow(/has shape \[1, 1\]/);
      const two = y.add(lazyI(await tensor([[0], [0]], place))).reduction('ArgMin', 'j');
      const gaps = empty([2, 2], { ...place, dtype: 'int64' }).slice(null, [0, 1]);
      const call = await two.prepare([], { indexDtype: 'int64' });
      expect(() => call([], { out: gaps })).toThrow(/strides \[2, 1\].*row-major/);
    });

    it('refuses row numbers of another dtype', async () => {
      const y = lazyJ(await tensor([[4], [1], [7]], { device: device() }));
      const int16 = 'int16' as 'int64';
      await expect(y.argMin('j', { indexDtype: int16 })).rejects.toThrow(
        /argMin: indexDtype is "int16"/,
      );
      const sum = y.reduction('Sum', 'j').call([], { indexDtype: 'int64' });
      await expect(sum).rejects.toThrow(/Sum gives none/);
      const out = empty([1, 1], { device: device(), dtype: 'int32' });
      const other = out as unknown as Tensor<'int64'>;
      await expect(y.argMin('j', { indexDtype: 'int64', out: other })).rejects.toThrow(
        /out is int32.*result is int64/,
      );
      // The remedy for numbers of rows as inputs is in the error.
      const labels = await tensor([[0n], [1n]], { device: device() });
      expect(() => lazyI(labels as unknown as Tensor<'float32'>)).toThrow(
        /int64.*cast\('float32'\)/,
      );
    });

    it('computes variances that do not cancel', async () => {
      const far = numbers(5, 50, 2, { low: 1000, high: 1001 });
      const x = await upload(numbers(6, 3, 2), 'float32', device());
      const y = await upload(far, 'float32', device());
      const variance = await lazyI(x).mul(0).add(lazyJ(y)).var('j');
      expect(variance.shape).toEqual([3, 2]);
      const values = await variance.toTypedArray();
      for (const component of [0, 1]) {
        const column = far.values.filter((_, at) => at % 2 === component);
        const mean = column.reduce((sum, v) => sum + v, 0) / column.length;
        const want = column.reduce((sum, v) => sum + (v - mean) ** 2, 0) / column.length;
        expect(Math.abs((values[component] ?? NaN) - want)).toBeLessThan(1e-3 * want);
      }
    });
  });
}
