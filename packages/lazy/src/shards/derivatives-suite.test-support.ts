import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { device, empty, tensor, type Device, type RowReader, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  gradient,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rangesFromMatrix,
  valueAndGradients,
  type LazyReduction,
} from '../index.js';
import { byName } from '../reductions-suite.test-support.js';
import { numbers, upload } from '../reference.test-support.js';

const [M, N] = [13, 31];

/** Ranges whose ends fall into blocks, rows that meet nothing, and one that meets few. */
const RANGES = rangesFromMatrix(
  [
    [7, 12],
    [2, 5],
    [5, 6],
  ],
  [
    [20, 30],
    [1, 4],
    [4, 9],
    [9, 10],
  ],
  [
    [1, 0, 1, 0],
    [1, 1, 1, 0],
    [0, 0, 0, 1],
  ],
);

const MEANS: readonly ReductionKind[] = ['Mean', 'Var', 'Sum', 'Prod'];

/** Ranges, gradients and derivatives of reductions in blocks, beside those of whole calls; without `full` each reduction over one side, with ranges or without. */
export function describeCutDerivatives(
  devices: () => readonly Device[],
  { full = true } = {},
): void {
  const home = (): Device => devices()[0]!;

  const expectSame = async (found: unknown, wanted: unknown): Promise<void> => {
    const [a, b] = [
      await (found as Tensor).toTypedArray(),
      await (wanted as Tensor).toTypedArray(),
    ];
    expect((found as Tensor).shape).toEqual((wanted as Tensor).shape);
    for (const [at, value] of b.entries()) {
      const got = Number(a[at]);
      const want = Number(value);
      if (!Number.isFinite(want)) expect(got).toBe(want);
      else if (!(Math.abs(got - want) <= 1e-12 * Math.max(1, Math.abs(want)))) {
        expect.fail(`element ${at}: ${got}, expected ${want}`);
      }
    }
  };

  /** The least memory that all passes of a call take, as their messages say, and what the call gives in it. */
  const tight = async <T>(
    call: (maxBytes: number) => Promise<T>,
  ): Promise<readonly [maxBytes: number, found: T]> => {
    for (let maxBytes = 1; ;) {
      try {
        return [maxBytes, await call(maxBytes)];
      } catch (error) {
        const { message } = error as Error;
        const [, bytes] = /take (\d+) bytes/.exec(message) ?? [];
        if (bytes === undefined) expect.fail(message);
        maxBytes = Number(bytes);
      }
    }
  };

  const dataOf = async (): Promise<readonly Tensor<'float64'>[]> =>
    Promise.all(
      [numbers(1, M, 2), numbers(2, N, 2), numbers(3, N, 2, { low: 0.5, high: 2 })].map((one) =>
        upload<'float64'>(one, 'float64', device('cpu')),
      ),
    );

  const reductionOf = (
    kind: ReductionKind,
    axis: 'i' | 'j',
    [x, y, g]: readonly Tensor<'float64'>[],
  ): LazyReduction => {
    const { isExponential, takesK } = traitsOf(kind);
    const base = lazyI(x!)
      .sub(lazyJ(y!))
      .square()
      .mul(param([0.7]));
    const isWeighted = kind === 'SumSoftMaxWeight' || kind === 'MaxSumShiftExp';
    return (isExponential ? base.sum() : base).reduction(kind, axis, {
      ...(takesK && { k: 3 }),
      ...(isWeighted && { weight: lazyJ(g!).add(lazyI(x!).square()) }),
    });
  };

  describe('in blocks', () => {
    it.each(REDUCTION_KINDS.map((kind, at) => [kind, at % 2 === 0 ? 'j' : 'i'] as const))(
      'ranges of %s over %s are those of the whole',
      async (kind, axis) => {
        const data = await dataOf();
        const sides = full && MEANS.includes(kind) ? (['i', 'j'] as const) : [axis];
        for (const side of sides) {
          const of = reductionOf(kind, side, data);
          let blocks = 0;
          const onProgress = ({ total }: { total: number }): void => void (blocks = total);
          const options = { ranges: RANGES, devices: devices(), onProgress };
          const [, given] = await tight((maxBytes) => of.call([], { ...options, maxBytes }));
          const found = byName(given);
          expect(blocks).toBeGreaterThan(10);
          const whole = byName(await of.call([], { ranges: RANGES }));
          if (whole.value !== undefined) await expectSame(found.value, whole.value);
          expect(await found.index?.toNested()).toEqual(await whole.index?.toNested());
        }
      },
    );

    it.each<[ReductionKind, 'i' | 'j', boolean]>([
      ['Sum', 'j', true],
      ['Sum', 'i', false],
      ['Mean', 'i', true],
      ['Var', 'j', false],
      ['Prod', 'j', true],
      ['LogSumExp', 'j', false],
      ['SumSoftMaxWeight', 'i', true],
      ['Min', 'j', false],
      ['MaxArgMax', 'i', true],
      ['KMin', 'j', false],
    ])('gradients of %s over %s are those of the whole, with ranges too', async (...row) => {
      const [kind, axis, hasRanges] = row;
      const data = await dataOf();
      const of = reductionOf(kind, axis, data);
      const [x, y] = [lazyI(data[0]!), lazyJ(data[1]!)];
      for (const ranges of full ? [undefined, RANGES] : [hasRanges ? RANGES : undefined]) {
        const whole = await valueAndGradients(of, { x, y }, { ranges });
        let blocks = 0;
        const onProgress = (): void => {
          blocks++;
        };
        const options = { ranges, devices: devices(), onProgress };
        const [least, found] = await tight((maxBytes) =>
          valueAndGradients(of, { x, y }, { ...options, maxBytes }),
        );
        const maxBytes = 2 * least;
        expect(blocks).toBeGreaterThan(6);
        await expectSame(byName(found.value).value, byName(whole.value).value);
        await expectSame(found.gradients.x, whole.gradients.x);
        await expectSame(found.gradients.y, whole.gradients.y);
        expect(found.gradients.y.device).toBe(home());
        const seed = numbers(9, axis === 'j' ? M : N, of.dim);
        const cotangent = await upload(seed, 'float64', device('cpu'));
        const out = empty(data[1]!.shape, { dtype: 'float64', device: 'cpu' });
        await gradient(of, y, cotangent, { ranges, devices: devices(), maxBytes, out });
        await expectSame(out, await gradient(of, y, cotangent, { ranges }));
      }
    });

    it('gradients of rows of a file, of a table and of a parameter', async () => {
      const [x, y] = await dataOf();
      const rows = (await y!.toTypedArray()) as Float64Array;
      const read: number[] = [];
      const file: RowReader = {
        shape: [N, 2],
        dtype: 'float64',
        readRows: (first, count) => {
          read.push(count);
          const data = rows.slice(2 * first, 2 * (first + count));
          return Promise.resolve({ data, shape: [count, 2] });
        },
      };
      const table = await tensor(
        [
          [1, 2],
          [0.5, -1],
          [3, 1],
        ],
        { dtype: 'float64', device: 'cpu' },
      );
      const which = await tensor(
        Float64Array.from({ length: N }, (_, j) => j % 3),
        { shape: [N, 1], device: 'cpu' },
      );
      const s = await tensor([0.3], { dtype: 'float64', device: 'cpu' });
      const variables = { b: lazyI(x!, { name: 'b' }), s: param(s) };
      const of = (other: Tensor<'float64'> | RowReader): LazyReduction<'Sum', 'float64'> =>
        variables.b
          .sqdist(lazyJ(other as Tensor<'float64'>, { name: 'other' }))
          .mul(variables.s)
          .neg()
          .exp()
          .add(lazyJ(which).gather(table).sum())
          .reduction('Sum', 'j');
      const whole = await valueAndGradients(of(y!), { ...variables, y: 'other' });
      const call = (maxBytes: number) =>
        valueAndGradients(of(file), { ...variables, y: 'other' }, { devices: devices(), maxBytes });
      const [, found] = await tight(call);
      expect(Math.max(...read)).toBeLessThan(N);
      for (const name of ['b', 's', 'y'] as const) {
        await expectSame(found.gradients[name], whole.gradients[name]);
      }
      const again = await gradient(of(file), 'other', numbersOf(M));
      await expectSame(again, await gradient(of(y!), 'other', numbersOf(M)));
    });

    it('keep no memory', async () => {
      const data = await dataOf();
      const of = reductionOf('Var', 'j', data);
      const y = lazyJ(data[1]!);
      const kept = await memoryKept(home(), async () => {
        const options = { ranges: RANGES, devices: devices(), maxBytes: 6000 };
        const { value, gradients } = await valueAndGradients(of, { y }, options);
        for (const one of [value as Tensor, gradients.y]) one.dispose();
        for (const kind of ['Mean', 'LogSumExp', 'ArgMin', 'Var'] as const) {
          const found = (await reductionOf(kind, 'i', data).call([], options)) as Tensor;
          found.dispose();
        }
      });
      expect(kept).toEqual(NOTHING);
    });

    it('are refused where there is a gradient for every pair, and where a call is prepared', async () => {
      const [x, y] = await dataOf();
      const s = await tensor(new Float64Array(M * N), { shape: [M, N], device: 'cpu' });
      const pairs = lazyPair(s);
      const of = lazyI(x!).sqdist(lazyJ(y!)).mul(pairs).reduction('Sum', 'j');
      const options = { devices: devices() };
      await expect(valueAndGradients(of, { pairs }, options)).rejects.toThrow(
        /such gradients have no blocks\. Leave devices/,
      );
      await expect(of.prepare([], options as object)).rejects.toThrow(
        /prepare: devices, maxBytes, onProgress and rows of a file cut rows into blocks/,
      );
      const ranges = {
        ...RANGES,
        rangesI: [
          [7, 40],
          [2, 5],
          [5, 6],
        ] as const,
      };
      await expect(of.call([], { ...options, ranges })).rejects.toThrow(/rangesI/);
      const { rangesI, slicesI, redrangesJ } = RANGES;
      const half = { rangesI, slicesI, redrangesJ };
      const over = lazyI(x!).sqdist(lazyJ(y!)).reduction('Sum', 'i');
      await expect(over.call([], { ...options, ranges: half })).rejects.toThrow(/no rangesJ/);
    });
  });
}

const numbersOf = (rows: number): number[][] =>
  Array.from({ length: rows }, (_, at) => [1 + at / 8]);
