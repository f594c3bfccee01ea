import { evaluateReduction, traitsOf, type ReductionKind } from '@mercer/formula';
import { tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  gradient,
  lazyI,
  lazyJ,
  param,
  valueAndGradients,
  type LazyReduction,
  type LazyTensor,
} from './index.js';
import { numbers, upload, type Numbers } from './reference.test-support.js';

const [M, N] = [4, 6];

/** Kinds whose rule is that of MaxArgMax or KMin. */
const OF_ONE_RULE: readonly ReductionKind[] = [
  'Max',
  'MinArgMin',
  'KMax',
  'KMinArgKMin',
  'KMaxArgKMax',
];

/** `cotangent * result`, number by number in float64, of a reduction without batch axes. */
function terms(
  of: LazyReduction,
  data: readonly Float64Array[],
  cotangent: Float64Array,
): Float64Array {
  const { value } = evaluateReduction(of.reduction, data, { rowsI: M, rowsJ: N });
  return (value ?? new Float64Array()).map((v, at) => v * (cotangent[at] ?? NaN));
}

const total = (values: Float64Array): number => values.reduce((sum, v) => sum + v, 0);

const STEP = 1e-5;

/** The derivative by every number of an input, by central differences. */
function differences(
  of: LazyReduction,
  data: readonly Float64Array[],
  place: number,
  cotangent: Float64Array,
): number[] {
  return Array.from(data[place] ?? [], (_, at) => {
    const moved = (by: number): number =>
      total(
        terms(
          of,
          data.map((one, p) => (p === place ? one.with(at, (one[at] ?? NaN) + by) : one)),
          cotangent,
        ),
      );
    return (moved(STEP) - moved(-STEP)) / (2 * STEP);
  });
}

/** What the sums of {@link differences} are rounded by: 8 units in the last place of the sum of magnitudes, over the step. */
const roundingError = (values: Float64Array): number =>
  (2 ** -49 * total(values.map(Math.abs))) / STEP;

/** Within `tolerance` of the largest of the wanted numbers, and what these themselves are rounded by. */
function near(
  found: ArrayLike<number>,
  wanted: readonly number[],
  tolerance: number,
  rounding = 0,
): void {
  expect(found).toHaveLength(wanted.length);
  const largest = Math.max(...wanted.map(Math.abs));
  for (const [at, want] of wanted.entries()) {
    expect(Math.abs((found[at] ?? NaN) - want), `number ${at}`).toBeLessThanOrEqual(
      tolerance * largest + rounding,
    );
  }
}

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
      const data: Numbers[] = [numbers(1, M, 2), numbers(2, N, 2), numbers(3, 1, 1, { low: 0.5 })];
      const weighted = kind === 'SumSoftMaxWeight' || hasWeight === true;
      if (weighted) data.push(numbers(4, N, 2, { low: 0.5, high: 2 }));
      const [x, y, p, g] = await Promise.all(data.map((one) => upload(one, 'float64', device())));
      const variables = [lazyI(x!), lazyJ(y!), param(p!.reshape([1]))] as const;
      const base = variables[0].sub(variables[1]).square().mul(variables[2]);
      const isScalar = kind === 'LogSumExp' || weighted;
      const formula: LazyTensor<'float64'> = isScalar ? base.sum() : base;
      const weight = weighted ? lazyJ(g!) : undefined;
      const of = formula.reduction(kind, axis, {
        weight,
        ...(traitsOf(kind).takesK && { k: 2 }),
      });
      const cotangent = numbers(5, axis === 'j' ? M : N, of.dim);
      const seed = await upload(cotangent, 'float64', device());
      const values = data.map((one) => one.values);
      const rounding = roundingError(terms(of, values, cotangent.values));
      for (const [place, variable] of [...variables, ...(weight ? [weight] : [])].entries()) {
        // Each is a kernel: by the parameter only where the formulas differ most, and kinds of one rule by x alone.
        if (place === 2 && (weighted || !['Sum', 'LogSumExp', 'KMin'].includes(kind))) continue;
        if (place > 0 && OF_ONE_RULE.includes(kind)) continue;
        const wanted = differences(of, values, place, cotangent.values);
        const found = await gradient(of, variable, seed);
        const { batch, rows, dim } = data[place] as Numbers;
        expect(found.shape).toEqual(place === 2 ? [1] : [...batch, rows, dim]);
        near(await found.toTypedArray(), wanted, 1e-6, rounding);
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
      near(
        await byX.toTypedArray(),
        Array.from(data[0].values, (v) => 2 * v * squares(data[1])),
        1e-12,
      );
      near(
        await byY.toTypedArray(),
        Array.from(data[1].values, (v) => 2 * v * squares(data[0])),
        1e-12,
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
      near(await second.toTypedArray(), wanted, 1e-12);
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
