import { traitsOf, type ReductionKind } from '@mercer/formula';
import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { gradient, lazyI, lazyJ, param, valueAndGradients, type LazyTensor } from './index.js';
import { numbers, upload, type Numbers } from './reference.test-support.js';
import { expectSlopes, gradientByLoops, paired, total, type Meant } from './slopes.test-support.js';

const [M, N] = [4, 6];

/** Kinds whose rule is that of MaxArgMax or KMin. */
const OF_ONE_RULE: readonly ReductionKind[] = [
  'Max',
  'MinArgMin',
  'KMax',
  'KMinArgKMin',
  'KMaxArgKMax',
];

/** Gradients of every reduction that has one, by variables of i and j and by parameters. */
export function describeGradients(device: () => Device): void {
  describe('gradient', () => {
    const sides = ['i', 'j'] as const;
    it.each<[ReductionKind, 'i' | 'j', (true | undefined)?]>([
      ['Sum', 'j'],
      ['Mean', 'i'],
      ['Var', 'j'],
      ['Prod', 'j'],
      ['LogSumExp', 'j'],
      ['SumSoftMaxWeight', 'i'],
      ['Min', 'j'],
      ['MaxArgMax', 'i'],
      ['KMin', 'j'],
      ['LogSumExp', 'i', true],
      ['Max', 'j'],
      ['MinArgMin', 'i'],
      ['KMax', 'i'],
      ['KMinArgKMin', 'i'],
      ['KMaxArgKMax', 'j'],
    ])('of %s over %s', async (kind, axis, hasWeight) => {
      const weighted = kind === 'SumSoftMaxWeight' || hasWeight === true;
      const data = {
        x: numbers(1, M, 2),
        y: numbers(2, N, 2),
        p: numbers(3, 1, 1, { low: 0.5 }),
        // Of the side that is reduced: else it is the same in every term.
        g: numbers(4, axis === 'j' ? N : M, 2, { low: 0.5, high: 2 }),
      };
      const place = device();
      const [x, y, g] = await Promise.all(
        [data.x, data.y, data.g].map((one) => upload(one, 'float64', place)),
      );
      const p = await tensor(data.p.values, { device: place });
      const variables = {
        x: lazyI(x!),
        y: lazyJ(y!),
        p: param(p),
        g: (axis === 'j' ? lazyJ : lazyI)(g!),
      };
      const base = variables.x.sub(variables.y).square().mul(variables.p);
      const isScalar = kind === 'LogSumExp' || weighted;
      const formula: LazyTensor<'float64'> = isScalar ? base.sum() : base;
      const k = traitsOf(kind).takesK ? 2 : undefined;
      const of = formula.reduction(kind, axis, {
        ...(weighted && { weight: variables.g }),
        ...(k !== undefined && { k }),
      });
      const meant: Meant = {
        kind,
        axis,
        k,
        rowsI: M,
        rowsJ: N,
        term: ({ i, j, row }) => {
          const [scale] = row('p');
          const squares = paired(row('x', i), row('y', j), (one, other) =>
            one.minus(other).squared().times(scale!),
          );
          return {
            formula: isScalar ? [total(squares)] : squares,
            ...(weighted && { weight: row('g', axis === 'j' ? j : i) }),
          };
        },
      };
      const cotangent = numbers(5, axis === 'j' ? M : N, of.dim);
      const seed = await upload(cotangent, 'float64', device());
      for (const name of ['x', 'y', 'p', 'g'] as const) {
        if (name === 'g' && !weighted) continue;
        // Each is a kernel: by the parameter only where the formulas differ most, and kinds of one rule by x alone.
        if (name === 'p' && (weighted || !['Sum', 'LogSumExp', 'KMin'].includes(kind))) continue;
        if (name !== 'x' && OF_ONE_RULE.includes(kind)) continue;
        const found = await gradient(of, variables[name], seed);
        const { rows, dim } = data[name];
        expect(found.shape).toEqual(name === 'p' ? [1] : [rows, dim]);
        const wanted = gradientByLoops(meant, data, name, cotangent);
        expectSlopes(await found.toTypedArray(), wanted);
      }
    });

    it.each(sides)('adds up what batch axes repeat, over %s', async (axis) => {
      const data = [numbers(1, M, 1, { batch: [2, 1] }), numbers(2, N, 1, { batch: [3] })] as const;
      const [x, y] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const [a, b] = [lazyI(x!), lazyJ(y!)];
      const of = a.mul(b).square().reduction('Sum', axis);
      const rows = axis === 'j' ? M : N;
      const ones = await tensor(new Float64Array(6 * rows).fill(1), {
        shape: [2, 3, rows, 1],
        device: device(),
      });
      const [byX, byY] = [await gradient(of, a, ones), await gradient(of, b, ones)];
      expect([byX.shape, byY.shape]).toEqual([x!.shape, y!.shape]);
      // d/dx of sum over batches and pairs of (x y)^2 is 2 x sum of y^2, and the other way round.
      const squares = ({ values }: Numbers): number => values.reduce((sum, v) => sum + v * v, 0);
      expectSlopes(
        await byX.toTypedArray(),
        Array.from(data[0].values, (v) => 2 * v * squares(data[1])),
      );
      expectSlopes(
        await byY.toTypedArray(),
        Array.from(data[1].values, (v) => 2 * v * squares(data[0])),
      );
    });

    it('has the shape of the data, and takes saved results', async () => {
      const place = { device: device() };
      const x = await tensor([[[0.5]], [[2]]], place); // (M, 1, 1), an i-variable by shape
      const y = await tensor([[1], [3]], place);
      const [{ lazy }] = [await import('./index.js')];
      const [a, b] = [lazy(x), lazyJ(y)];
      const of = a.sub(b).square().reduction('Min', 'j');
      const indices = await a.sub(b).square().argMin('j');
      const found = await gradient(of, a, [[1], [10]], { saved: { indices } });
      expect(found.shape).toEqual([2, 1, 1]);
      // nearest: 1 for 0.5, and 1 for 2 (a tie, the first)
      expect(await found.toNested()).toEqual([[[-1]], [[20]]]);
      const log = a.mul(b).reduction('LogSumExp', 'j');
      const values = await log.call();
      const [kept, fresh] = [
        await gradient(log, b, [[1], [1]], { saved: { values } }),
        await gradient(log, b, [[1], [1]]),
      ];
      expect(await kept.toNested()).toEqual(await fresh.toNested());
    });

    it('goes on: a gradient written as a formula is differentiated again', async () => {
      const place = { device: device(), dtype: 'float64' } as const;
      const x = await tensor([[0.3], [0.9]], place);
      const y = await tensor([[0.1], [0.5], [0.7]], place);
      const [a, b] = [lazyI(x), lazyJ(y)];
      const e = lazyI(await tensor([[1], [1]], place));
      const slope = a.sub(b).square().neg().exp().grad(a, e).reduction('Sum', 'j');
      const second = await gradient(slope, a, await tensor([[1], [1]], place));
      const wanted = [0.3, 0.9].map((u) =>
        [0.1, 0.5, 0.7].reduce((sum, v) => {
          const s = (u - v) ** 2;
          return sum + (4 * s - 2) * Math.exp(-s);
        }, 0),
      );
      expectSlopes(await second.toTypedArray(), wanted);
    });

    it.each<[ReductionKind, number?]>([
      ['Max'],
      ['MinArgMin'],
      ['KMin', 1],
      ['KMaxArgKMax', 2],
      ['Mean'],
      ['Prod'],
    ])('of %s over a side that no variable follows, which has one row', async (kind, k) => {
      const place = { device: device() };
      const y = await tensor([[1], [5]], place);
      const options = k === undefined ? {} : { k };
      // A second extremum of one row there is not.
      const seeds = [1, 1].map((seed) => Array.from({ length: k ?? 1 }, () => seed));
      const of = lazyJ(y).square().reduction(kind, 'i', options);
      const found = await gradient(of, lazyJ(y), seeds);
      expect(await found.toNested()).toEqual([[2], [10]]);
      const other = lazyI(y).square().reduction(kind, 'j', options);
      const { gradients } = await valueAndGradients(other, { y: lazyI(y) }, { cotangent: seeds });
      expect(await gradients.y.toNested()).toEqual([[2], [10]]);
      const p = param(await tensor([3], place));
      const alone = p.square().reduction(kind, 'i', options);
      expect(await (await gradient(alone, p, [seeds[0]!])).toNested()).toEqual([6]);
    });

    // 1, then terms that float32 loses one by one: the derivative by x is the sum of y, that by the parameter x times it.
    it.each([
      ['Sum', { sumScheme: 'kahan' }],
      ['Sum', { accumulate: 'float64', sumScheme: 'direct' }],
      ['Mean', { sumScheme: 'kahan' }],
      ['LogSumExp', { accumulate: 'float64', sumScheme: 'direct' }],
      ['Var', { sumScheme: 'kahan' }],
      ['Max', { sumScheme: 'kahan' }],
      ['Prod', { accumulate: 'float64' }],
    ] as const)('of %s is added up as %j says', async (kind, options) => {
      const rows = 20_001;
      const place = { device: device() };
      const terms = new Float32Array(rows).fill(2 ** -25).fill(1, 0, 1);
      const x = lazyI(await tensor([[1]], place), { name: 'x' });
      const y = lazyJ(await tensor(terms, { shape: [rows, 1], ...place }));
      const total = 1 + 20_000 * 2 ** -25;
      const mean = total / rows;
      const squares = (1 - mean) ** 2 + 20_000 * (2 ** -25 - mean) ** 2;
      const product = kind === 'Prod' ? x.add(y.mul(0)) : x.mul(y);
      const wanted = {
        Sum: total,
        Mean: mean,
        // The terms are log y: each adds its weight, and the weights add up to 1.
        LogSumExp: 1,
        Var: (2 * squares) / rows,
        Max: 1,
        Prod: rows,
      }[kind];
      const formula = kind === 'LogSumExp' ? x.add(y.log()) : product;
      const of = formula.reduction(kind, 'j');
      const close = kind === 'Sum' || kind === 'Max' || kind === 'Prod' ? 0 : 8 * 2 ** -24;
      const near = (found: number): void => {
        expect(Math.abs(found - Math.fround(wanted))).toBeLessThanOrEqual(close * wanted);
      };
      const [found = NaN] = await (await gradient(of, x, [[1]], options)).toTypedArray();
      near(found);
      const { gradients } = await valueAndGradients(of, { x }, options);
      near((await gradients.x.toTypedArray())[0] ?? NaN);
    });

    it('of sums in float64 is compensated too', async () => {
      const rows = 20_001;
      const place = { device: device(), dtype: 'float64' } as const;
      const terms = new Float64Array(rows).fill(2 ** -54).fill(1, 0, 1);
      const y = lazyJ(await tensor(terms, { shape: [rows, 1], ...place }));
      const x = lazyI(await tensor([[1]], place), { name: 'x' });
      const wanted = 1 + 20_000 * 2 ** -54;
      const options = { sumScheme: 'kahan' } as const;
      const sum = await x.mul(y).sum('j', options);
      expect(await sum.toNested()).toEqual([[wanted]]);
      const slope = await gradient(x.mul(y).reduction('Sum', 'j'), x, [[1]], options);
      expect(await slope.toNested()).toEqual([[wanted]]);
      const direct = await x.mul(y).sum('j', { sumScheme: 'direct' });
      expect(await direct.toNested()).not.toEqual([[wanted]]);
    });

    it('is 0 where nothing is reduced', async () => {
      const x = await tensor([[1], [2]], { device: device() });
      const none = await tensor(new Float32Array(0), { shape: [0, 1], device: device() });
      const [a, b] = [lazyI(x), lazyJ(none)];
      for (const kind of ['Sum', 'LogSumExp', 'Min'] as const) {
        const found = await gradient(a.mul(b).reduction(kind, 'j'), a, [[1], [1]]);
        expect(await found.toNested()).toEqual([[0], [0]]);
      }
    });
  });
}
