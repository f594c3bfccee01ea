import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arange,
  concat,
  diag,
  eye,
  linspace,
  oneHot,
  tril,
  triu,
  type Device,
  type Tensor,
} from '../index.js';
import { castOracle, type Value } from '../testing/cast-oracle.test-support.js';
import { castAll, hostValues, placed, stored } from '../testing/host-values.test-support.js';
import { LAYOUTS, viewOf } from '../testing/view-layouts.test-support.js';

const dtypeOf = fc.constantFrom(...DTYPES);
const layoutOf = fc.constantFrom(...LAYOUTS);
const extentOf = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 6 }) },
  fc.constant(0),
  fc.constant(70),
);
const offsetOf = fc.integer({ min: -8, max: 8 });
const seedOf = fc.integer({ min: 1, max: 1e6 });
const zeroOf = (dtype: DType): Value => (/^(u?int|bool)/.test(dtype) ? 0n : 0);

/** Numbers as a dtype stores them. */
const asStored = (numbers: readonly number[], dtype: DType): readonly unknown[] =>
  numbers.map((one) => castOracle(one, dtype));

/** Tensors that are made by a rule, on a device, against plain loops. */
export function creatorsSuite(where: () => Device): void {
  const RUNS = { numRuns: 150, seed: 11 };

  describe.each(DTYPES)('of %s', (dtype) => {
    it('arange is start + i step in float64, converted once', async () => {
      const cases: readonly (readonly number[])[] = [
        [0],
        [5],
        [-3],
        [2, 7],
        [7, 2],
        [7, 2, -1],
        [0, 1, 0.1],
        [1, 0, -0.25],
        [0.5, 300, 0.7],
        [-1e10, 1e10, 1e9 / 3],
        [0, 1e-310, 1e-311],
        [3, 3],
      ];
      for (const given of cases) {
        const [start = 0, stop = 0, step = 1] = given.length === 1 ? [0, ...given] : given;
        const numbers: number[] = [];
        for (let i = 0; i < Math.ceil((stop - start) / step); i++) numbers.push(start + i * step);
        const options = { dtype, device: where() };
        const found = await arange(...(given as [number]), options as never);
        expect(found.dtype).toBe(dtype);
        expect(found.shape).toEqual([numbers.length]);
        expect(await stored(found)).toEqual(asStored(numbers, dtype));
        found.dispose();
      }
    });

    it('linspace ends where it is told, or before', async () => {
      const cases = [
        [0, 1, 5],
        [0, 1, 7],
        [1, -2, 10],
        [0.1, 0.7, 100],
        [-300, 300, 33],
        [2, 3, 0],
        [2, 3, 1],
        [2, 2, 3],
        [-1.5e308, 1.5e308, 4],
      ] as const;
      for (const [start, stop, count] of cases) {
        for (const endpoint of [true, false]) {
          const steps = Math.max(1, endpoint ? count - 1 : count);
          const step = stop / steps - start / steps;
          const simple = (stop - start) / steps;
          const numbers = Array.from(
            { length: count },
            (_, i) => start + i * (Number.isFinite(simple) ? simple : step),
          );
          if (endpoint && count > 1) numbers[count - 1] = stop;
          const options = { dtype, device: where(), endpoint };
          const found = await linspace(start, stop, count, options);
          expect(await stored(found)).toEqual(asStored(numbers, dtype));
          found.dispose();
        }
      }
    });

    it('eye has ones on its diagonal', async () => {
      for (const [rows, columns] of [
        [3, 3],
        [2, 5],
        [5, 2],
        [0, 0],
        [0, 3],
        [3, 0],
        [70, 71],
      ]) {
        const options = { columns, dtype, device: where() };
        const found = await eye(rows ?? 0, options);
        const shape = [rows ?? 0, columns ?? 0];
        expect(found.shape).toEqual(shape);
        expect(await stored(found)).toEqual(
          castAll(shape, dtype, ([row, column]) => (row === column ? 1n : 0n)),
        );
        found.dispose();
      }
      using square = await eye(4, { dtype, device: where() });
      expect(square.shape).toEqual([4, 4]);
    });

    it('oneHot has a one where the class is', async () => {
      for (const of of ['int64', 'int32', 'uint8'] as const) {
        for (const shape of [[], [0], [7], [3, 4]]) {
          // each layout is a kernel of its own
          for (const layout of dtype === 'float32' ? LAYOUTS : (['reversed'] as const)) {
            const values = hostValues(of, shape, 5);
            using classes = (await placed(values, layout, where())) as Tensor<typeof of>;
            using found = await oneHot(classes, 6, { dtype });
            expect(found.shape).toEqual([...shape, 6]);
            expect(await stored(found)).toEqual(
              castAll([...shape, 6], dtype, (index) =>
                values.at(index.slice(0, -1)) === BigInt(index.at(-1) ?? 0) ? 1n : 0n,
              ),
            );
          }
        }
      }
    });
  });

  it('oneHot tells classes apart that float32 does not', async () => {
    using base = await arange(2 ** 24 - 1, 2 ** 24 + 2, { dtype: 'int32', device: where() });
    using found = await oneHot(base, 2 ** 24 + 3, { dtype: 'uint8' });
    using tail = found.slice(null, [2 ** 24 - 2]);
    expect(await tail.toNested()).toEqual([
      [0, 1, 0, 0, 0],
      [0, 0, 1, 0, 0],
      [0, 0, 0, 1, 0],
    ]);
  });

  it('oneHot writes into an output of any layout', async () => {
    const device = where();
    using classes = await arange(3, { dtype: 'int32', device });
    for (const layout of LAYOUTS) {
      using out = viewOf('float16', [3, 3], layout, device);
      expect(await oneHot(classes, 3, { out })).toBe(out);
      using wanted = await eye(3, { dtype: 'float16', device });
      expect(await stored(out)).toEqual(await stored(wanted));
    }
  });

  it('diag makes a matrix of a vector, and a view of a matrix', { timeout: 600_000 }, async () => {
    const cases = fc.record({
      rows: extentOf,
      columns: extentOf,
      offset: offsetOf,
      dtype: dtypeOf,
      layout: layoutOf,
      seed: seedOf,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ rows, columns, offset, dtype, layout, seed }) => {
        const values = hostValues(dtype, [rows], seed);
        using vector = await placed(values, layout, where());
        using made = await diag(vector, offset);
        const extent = rows + Math.abs(offset);
        expect(made.shape).toEqual([extent, extent]);
        expect(await stored(made)).toEqual(
          castAll(made.shape, dtype, ([row = 0, column = 0]) =>
            column - row === offset ? values.at([Math.min(row, column)]) : zeroOf(dtype),
          ),
        );
        const all = hostValues(dtype, [rows, columns], seed);
        using matrix = await placed(all, layout, where());
        using part = await matrix.diag(offset);
        expect(part.storage).toBe(matrix.storage);
        const wanted: unknown[] = [];
        for (let row = 0; row < rows; row++) {
          const column = row + offset;
          if (column < 0 || column >= columns) continue;
          wanted.push(castOracle(all.at([row, column]), dtype));
        }
        expect(part.shape).toEqual([wanted.length]);
        expect(await stored(part)).toEqual(wanted);
      }),
      RUNS,
    );
  });

  it('tril and triu keep the very elements on one side', { timeout: 600_000 }, async () => {
    const cases = fc.record({
      batch: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
      rows: extentOf,
      columns: extentOf,
      offset: offsetOf,
      dtype: dtypeOf,
      layout: layoutOf,
      seed: seedOf,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ batch, rows, columns, offset, dtype, layout, seed }) => {
        const shape = [...batch, rows, columns];
        const values = hostValues(dtype, shape, seed);
        using x = await placed(values, layout, where());
        for (const [one, keeps] of [
          [tril, (distance: number) => distance <= offset],
          [triu, (distance: number) => distance >= offset],
        ] as const) {
          using found = await one(x, offset);
          expect(found.shape).toEqual(shape);
          expect(found.dtype).toBe(dtype);
          expect(await stored(found)).toEqual(
            castAll(shape, dtype, (index) =>
              keeps((index.at(-1) ?? 0) - (index.at(-2) ?? 0)) ? values.at(index) : zeroOf(dtype),
            ),
          );
        }
      }),
      RUNS,
    );
  });

  it('all can be used before they are awaited', async () => {
    const device = where();
    const steps = arange(1, 3, { device });
    const both = concat([steps.mul(2), linspace(0, 1, 2, { device })]);
    expect(await both.toNested()).toEqual([2, 4, 0, 1]);
    expect(await diag(steps).tril().sum().item()).toBe(3);
    expect(await eye(2, { device }).mul(3).triu(1).toNested()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    const classes = arange(2, { dtype: 'int32', device }).add(1);
    expect(
      await oneHot(classes as never, 3)
        .add(1)
        .toNested(),
    ).toEqual([
      [1, 2, 1],
      [1, 1, 2],
    ]);
  });
}
