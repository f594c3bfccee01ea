import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { empty, MercerError, planOf, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  complexOf,
  genred,
  jointReduction,
  LazyError,
  lazyI,
  lazyJ,
  rangesFromMatrix,
  type LazyAxis,
  type LazyDType,
  type LazyReduction,
  type LazyTensor,
} from './index.js';
import { byName } from './reductions-suite.test-support.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  upload,
  wholeNumbers,
  type Meaning,
  type Numbers,
  type Variable,
} from './reference.test-support.js';

const WEIGHTED: readonly ReductionKind[] = ['LogSumExp', 'SumSoftMaxWeight', 'MaxSumShiftExp'];

/** All kinds in groups whose results stay within one kernel. */
const GROUPS = [0, 1, 2].map((group) => REDUCTION_KINDS.filter((_, at) => at % 3 === group));

const CASES: readonly [LazyAxis, LazyDType][] = [
  ['j', 'float32'],
  ['i', 'float64'],
  ['j', 'float64'],
];

const sidesOf = ([x, y]: readonly [Numbers, Numbers]): readonly Variable[] => [
  { data: x, side: 'i' },
  { data: y, side: 'j' },
];

/** Several reductions in one pass give what each gives alone. */
export function describeJoint(device: () => Device): void {
  describe('jointReduction', () => {
    it.each(CASES.map(([axis, dtype], at) => [axis, dtype, GROUPS[at] ?? []] as const))(
      'over %s in %s of %s',
      async (axis, dtype, kinds) => {
        const data = [
          wholeNumbers(1, 9, 2, [2, 1]),
          wholeNumbers(2, 40, 2, [3]),
          wholeNumbers(3, axis === 'j' ? 40 : 9, 2),
        ] as const;
        const tensors: Tensor<LazyDType>[] = [];
        for (const one of data) tensors.push(await upload(one, dtype, device()));
        const [x, y, g] = data;
        const described = (kind: ReductionKind): Meaning => ({
          kind,
          axis,
          ...(traitsOf(kind).takesK && { k: 2 }),
          variables: [
            { data: x, side: 'i' },
            { data: y, side: 'j' },
            { data: g, side: axis },
          ],
          formula: (x, y) => (WEIGHTED.includes(kind) ? x.sub(y).sum().div(8) : x.sub(y)),
          ...(WEIGHTED.includes(kind) && { weight: (_x, _y, g) => g.abs() }),
        });
        const joint = jointReduction(
          Object.fromEntries(kinds.map((kind) => [kind, lazyReduction(described(kind), tensors)])),
        );
        expect(joint.axis).toBe(axis);
        const found = await joint.call();
        expect(Object.keys(found)).toEqual(kinds);
        for (const kind of kinds) {
          await expectResult(byName(found[kind]), reference(described(kind), dtype));
        }
      },
    );

    it('takes formulas over other inputs of the same rows, some of 16 bits', async () => {
      const place = { device: device() };
      const x = await tensor([[1], [2]], place);
      const half = await tensor([[0.5], [2], [4]], { ...place, dtype: 'float16' });
      const b = await tensor([[10], [100], [1000]], place);
      const [xs, ys, bs] = [lazyI(x), lazyJ(half), lazyJ(b)];
      const found = await bs.reduceMany('j', {
        total: 'Sum',
        moment: { kind: 'Sum', of: xs.mul(ys).mul(bs) },
        nearest: { kind: 'ArgMin', of: xs.sub(ys).abs() },
      });
      expect(await found.total.toNested()).toEqual([[1110], [1110]]);
      expect(await found.moment.toNested()).toEqual([[4205], [8410]]);
      expect(await found.nearest.toNested()).toEqual([[0], [1]]);
    });

    it('gives one pass where the formulas share their work, or are short, and else one for each', async () => {
      for (const [dim, isShared, passes] of [
        [3, true, 1],
        [3, false, 1],
        // tiles of a GPU have no room for a list of the K best beside a sum
        [70, true, device().kind === 'cpu' ? 1 : 2],
        [70, false, 2],
      ] as const) {
        const data = [numbers(1, 5, dim), numbers(2, 12, dim)] as const;
        const [x, y, ...others] = await Promise.all(
          [...data, ...data].map((one) => upload(one, 'float32', device())),
        );
        const [u, v] = isShared ? [x, y] : others;
        const joint = jointReduction({
          sum: lazyI(x!).sub(lazyJ(y!)).reduction('Sum', 'j'),
          nearest: lazyI(u!).sub(lazyJ(v!)).sqnorm2().reduction('KMinArgKMin', 'j', { k: 3 }),
        });
        const prepared = await joint.prepare();
        expect(prepared.plans).toHaveLength(passes);
        // how sums are added up is not for the pass of what compares
        const wide = { accumulate: 'float64', sumScheme: 'direct' } as const;
        const calls = [await joint.call(), prepared([]), await joint.call([], wide)];
        for (const [call, { sum, nearest }] of calls.entries()) {
          const told = [sum, nearest.values, nearest.indices].map(planOf);
          // the plan of the pass that computed it
          expect(told[0]?.summary).toMatch(
            passes === 1 ? /Sum \+ KMinArgKMin 3 over j/ : /Sum over j/,
          );
          for (const plan of told.slice(1)) expect(plan?.summary).toMatch(/KMinArgKMin 3 over j/);
          if (call === 1)
            expect(told).toEqual(
              passes === 1
                ? Array(3).fill(prepared.plans[0])
                : [0, 1, 1].map((n) => prepared.plans[n]),
            );
          const sides = { axis: 'j', variables: sidesOf(data) } as const;
          const sums = { ...sides, kind: 'Sum', formula: (x, y) => x.sub(y) } satisfies Meaning;
          const near = {
            ...sides,
            kind: 'KMinArgKMin',
            k: 3,
            formula: (x, y) => x.sqdist(y),
          } satisfies Meaning;
          await expectResult({ value: sum }, reference(sums, 'float32'));
          await expectResult(byName(nearest), reference(near, 'float32'));
        }
      }
    });

    it('is called later with data for placeholders, its rows and batch free, and synchronously', async () => {
      const text = ['x = Vi(2)', 'y = Vj(2)'] as const;
      const joint = jointReduction({
        near: genred('SqDist(x, y)', text, { reduction: 'Min_ArgMin', axis: 'j' }).reduction,
        sums: genred('(x | y) * y', text, { axis: 'j' }).reduction,
      });
      expect(joint.argumentCount).toBe(2);
      expect(String(joint)).toMatch(/^JointReduction\(near: LazyReduction\(.*sums: /);
      const calls = [
        [wholeNumbers(1, 4, 2), wholeNumbers(2, 7, 2)],
        [wholeNumbers(3, 6, 2, [2]), wholeNumbers(4, 1, 2)],
        [wholeNumbers(5, 2, 2), wholeNumbers(6, 0, 2)],
      ] as const;
      const placed = [];
      for (const data of calls) {
        placed.push(await Promise.all(data.map((one) => upload(one, 'float32', device()))));
      }
      const prepared = await joint.prepare(placed[0]);
      for (const [at, data] of calls.entries()) {
        const results = [await joint.call(placed[at]), prepared(placed[at]!)];
        for (const { near, sums } of results) {
          const sides = { axis: 'j', variables: sidesOf(data) } as const;
          const nearest = {
            ...sides,
            kind: 'MinArgMin',
            formula: (x, y) => x.sqdist(y),
          } satisfies Meaning;
          const products = {
            ...sides,
            kind: 'Sum',
            formula: (x, y) => x.dot(y).mul(y),
          } satisfies Meaning;
          await expectResult(byName(near), reference(nearest, 'float32'));
          await expectResult({ value: sums }, reference(products, 'float32'));
        }
      }
    });

    it('writes into what the caller gives, some or all, whatever the strides', async () => {
      const place = { device: device() };
      const [a, b] = [lazyI(await tensor([[1], [2]], place)), lazyJ([[3], [5]])];
      const joint = jointReduction({
        sum: a.mul(b).reduction('Sum', 'j'),
        both: a.mul(b).reduction('MaxArgMax', 'j'),
      });
      const sum = (await tensor([[0, 0]], place)).transpose();
      const both = {
        values: empty([2, 1], place),
        indices: empty([2, 1], { ...place, dtype: 'int32' }),
      };
      const found = await joint.call([], { out: { sum, both } });
      expect(found.sum).toBe(sum);
      expect(found.both).toEqual(both);
      expect([await sum.toNested(), await both.indices.toNested()]).toEqual([
        [[8], [16]],
        [[1], [1]],
      ]);
      const again = await joint.call([], { out: { both } });
      expect(again.both.values).toBe(both.values);
      expect(await again.sum.toNested()).toEqual([[8], [16]]);
      await expect(joint.call([], { out: { sum: both.values, both } })).rejects.toThrow(
        /jointReduction: both.*(overlap|share)/i,
      );
    });

    it('takes ranges', async () => {
      const halves = [
        [0, 2],
        [2, 4],
      ] as const;
      const ranges = rangesFromMatrix(halves, halves, [
        [1, 0],
        [0, 1],
      ]);
      const x = [[0], [1], [10], [11]];
      const options = { ranges, device: device() };
      const distance = lazyI(x).sqdist(lazyJ(x));
      const { sum, far } = await distance.reduceMany('i', { sum: 'Sum', far: 'ArgMax' }, options);
      expect(await sum.toNested()).toEqual([[1], [1], [1], [1]]);
      expect(await far.toNested()).toEqual([[1], [0], [3], [2]]);
    });

    it('adds sums up as asked for, beside what compares and counts', async () => {
      const N = 3001;
      const equal = await tensor(new Float32Array(N).fill(0.1), {
        shape: [N, 1],
        device: device(),
      });
      const x = lazyI(await tensor([[1], [2]], { device: device() }));
      const y = lazyJ(equal);
      const f = x.mul(y);
      const parts = {
        least: f.reduction('ArgMin', 'j'),
        sum: f.reduction('Sum', 'j'),
        near: f.reduction('KMinArgKMin', 'j', { k: 2 }),
        mean: f.reduction('Mean', 'j'),
        count: f.reduction('Count', 'j'),
        most: f.reduction('Max', 'j'),
      };
      const joint = jointReduction(parts);
      const term = Math.fround(0.1);
      for (const options of [
        { accumulate: 'float64', sumScheme: 'direct' },
        { sumScheme: 'kahan' },
        { accumulate: 'float64' },
      ] as const) {
        using prepared = await joint.prepare([], options);
        for (const found of [await joint.call([], options), prepared([])]) {
          const sums = [...(await found.sum.toTypedArray())];
          // Term by term in float32 they are 400 units off.
          const size = 'accumulate' in options && !('sumScheme' in options) ? 40 : 2;
          for (const [i, sum] of sums.entries()) {
            const wanted = (i + 1) * N * term;
            expect(Math.abs(sum - wanted)).toBeLessThanOrEqual(size * 2 ** -24 * wanted);
          }
          for (const [i, mean] of [...(await found.mean.toTypedArray())].entries()) {
            const wanted = (i + 1) * term;
            expect(Math.abs(mean - wanted)).toBeLessThanOrEqual((size + 1) * 2 ** -24 * wanted);
          }
          expect(await found.least.toNested()).toEqual([[0], [0]]);
          expect(await found.near.indices.toNested()).toEqual([
            [0, 1],
            [0, 1],
          ]);
          expect(await found.count.toNested()).toEqual([[N], [N]]);
          expect(await found.most.toNested()).toEqual([[term], [2 * term]]);
        }
      }
      for (const [name, kind] of [
        ['Prod', 'Prod'],
        ['Var', 'Var'],
      ] as const) {
        const mixed = jointReduction({ sum: parts.sum, other: f.reduction(kind, 'j') });
        const call = mixed.call([], { accumulate: 'float64' });
        await expect(call).rejects.toThrow(new RegExp(`${name} takes neither 'accumulate'`));
      }
      const none = jointReduction({ least: parts.least, most: parts.most });
      await expect(none.call([], { accumulate: 'float64' })).rejects.toThrow(/takes neither/);
    });

    describe('is refused', () => {
      const [x, y] = [lazyI([[1], [2]], { name: 'x' }), lazyJ([[1], [2], [3]], { name: 'y' })];
      const sum = x.mul(y).reduction('Sum', 'j');
      const mistakes: readonly [string, () => unknown, string, RegExp][] = [
        ['without reductions', () => jointReduction({}), 'INVALID_ARGUMENT', /no reduction/],
        [
          'without an object',
          () => jointReduction(undefined as never),
          'INVALID_ARGUMENT',
          /no reduction/,
        ],
        [
          'over two sides',
          () => jointReduction({ a: sum, b: x.mul(y).reduction('Sum', 'i') }),
          'INVALID_ARGUMENT',
          /a is over j, and b over i/,
        ],
        [
          'of matrices',
          () => jointReduction({ a: x as unknown as LazyReduction }),
          'INVALID_ARGUMENT',
          /jointReduction: a is a LazyTensor/,
        ],
        [
          'of rows that differ',
          () => jointReduction({ sum, b: lazyJ([[1], [2]]).reduction('Sum', 'j') }),
          'SHAPE_MISMATCH',
          /3 rows/,
        ],
        [
          'of dtypes that differ',
          () =>
            jointReduction({
              a: lazyJ({ data: new Float32Array(3), shape: [3, 1] }).reduction('Sum', 'j'),
              b: lazyJ({ data: new Float64Array(3), shape: [3, 1] }).reduction('Sum', 'j'),
            }),
          'DTYPE_MISMATCH',
          /float32.*float64/,
        ],
        [
          'of a number',
          () => x.reduceMany('j', { a: { kind: 'Sum', of: 1 as unknown as LazyTensor } }),
          'INVALID_ARGUMENT',
          /reduceMany: a: of is 1/,
        ],
        [
          'of complex numbers',
          () =>
            x.reduceMany('j', {
              a: { kind: 'Sum', of: complexOf(lazyJ([[1, 2]])) as unknown as LazyTensor },
            }),
          'INVALID_ARGUMENT',
          /reduceMany: a: of is complex/,
        ],
        [
          'with a kind that is none',
          () => x.reduceMany('j', { a: 'Median' as ReductionKind }),
          'INVALID_ARGUMENT',
          /Median/,
        ],
        [
          'with out for something else',
          () => x.mul(y).reduceMany('j', { a: 'Sum' }, { out: { b: empty([2, 1]) } as object }),
          'INVALID_ARGUMENT',
          /out has 'b', and the results are a/,
        ],
        [
          'with an out of another shape, by name',
          () =>
            x
              .mul(y)
              .reduceMany(
                'j',
                { a: 'Sum', b: 'Max' },
                { out: { b: empty([3, 1], { device: device() }) } },
              ),
          'SHAPE_MISMATCH',
          /reduceMany: b/,
        ],
        [
          'with Kahan sums beside a product',
          () =>
            x
              .mul(y)
              .reduceMany('j', { a: 'Sum', b: 'Prod' }, { sumScheme: 'kahan', device: device() }),
          'UNSUPPORTED',
          /Prod takes neither/,
        ],
      ];
      it.each(mistakes)('%s', async (_, run, code, says) => {
        const error: unknown = await Promise.resolve()
          .then(run)
          .then(
            () => undefined,
            (reason: unknown) => reason,
          );
        expect(error instanceof LazyError || error instanceof MercerError, String(error)).toBe(
          true,
        );
        expect((error as LazyError).code).toBe(code);
        expect((error as LazyError).message).toMatch(says);
      });
    });
  });
}
