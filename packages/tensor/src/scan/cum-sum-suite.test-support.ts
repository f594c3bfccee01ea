import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cumSum, tensor, type Device } from '../index.js';
import { CountTable } from '../testing/count-table.test-support.js';
import { castAll, hostValues, placed, stored } from '../testing/host-values.test-support.js';
import { LAYOUTS, viewOf } from '../testing/view-layouts.test-support.js';

const layoutOf = fc.constantFrom(...LAYOUTS);
const extentOf = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 5 }) },
  fc.constant(0),
  fc.constant(17),
);

const totalOf = (dtype: DType): DType => {
  if (dtype === 'float64') return dtype;
  return dtype.includes('float') ? 'float32' : 'int64';
};

/** Sums up to each element on a device, against plain loops. The values are chosen so that float64 adds them exactly. */
export function cumSumSuite(where: () => Device): void {
  it('cumSum adds all dtypes, shapes and layouts', { timeout: 600_000 }, async () => {
    const counts = new CountTable()
      .expect('dtype', DTYPES)
      .expect('layout', LAYOUTS)
      .expect('out', ['none', ...LAYOUTS]);
    const cases = fc.record({
      shape: fc.array(extentOf, { minLength: 1, maxLength: 4 }),
      axis: fc.nat(),
      negative: fc.boolean(),
      dtype: fc.constantFrom(...DTYPES),
      layout: layoutOf,
      out: fc.option(layoutOf, { nil: undefined }),
      seed: fc.integer({ min: 1, max: 1e6 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, layout, ...rest }) => {
        const axis = rest.axis % shape.length;
        const drawn = hostValues(dtype, shape, rest.seed);
        // the ends of int64 would not add up exactly in float64
        const values: typeof drawn = {
          ...drawn,
          at: (index) => {
            const value = drawn.at(index);
            return dtype === 'int64' ? BigInt.asIntN(20, BigInt(value)) : value;
          },
        };
        const x = await placed(values, layout, where());
        const result = totalOf(dtype);
        const expected = castAll(shape, result, (index) => {
          let sum = -0;
          for (let k = 0; k <= (index[axis] ?? 0); k++)
            sum += Number(values.at(index.with(axis, k)));
          return result === 'int64' ? BigInt(sum) : sum;
        });
        const out = rest.out && viewOf(result, shape, rest.out, where());
        const found = await cumSum(x, rest.negative ? axis - shape.length : axis, {
          out: out as never,
        });
        if (out !== undefined) expect(found).toBe(out);
        expect(found.dtype).toBe(result);
        const bits = (await stored(found)).map((one) => (Number.isNaN(one) ? 'nan' : one));
        expect(bits).toEqual(expected);
        counts.add('dtype', dtype);
        counts.add('layout', layout);
        counts.add('out', rest.out ?? 'none');
        for (const one of [x, found]) one.dispose();
      }),
      { numRuns: 150, seed: 7 },
    );
    expect(counts.report(`cumSum on ${where().id}`)).toEqual([]);
  });

  it('adds columns and rows of any strides', async () => {
    const device = where();
    const data = Int32Array.from({ length: 7 * 600 }, (_, k) => ((k * 31) % 101) - 50);
    using x = await tensor(data, { shape: [7, 600], device });
    const wide = x.slice(null, [null, null, -2]);
    for (const [one, at] of [
      [x, (i: number, j: number) => data[600 * i + j]],
      [wide, (i: number, j: number) => data[600 * i + 599 - 2 * j]],
    ] as const) {
      const [rows = 0, columns = 0] = one.shape;
      for (const axis of [0, 1]) {
        const found = await one.cumSum(axis).toNested<bigint[][]>();
        for (let i = 0; i < rows; i++) {
          for (let j = 0; j < columns; j++) {
            let sum = 0;
            for (let k = 0; k <= (axis === 0 ? i : j); k++)
              sum += (axis === 0 ? at(k, j) : at(i, k)) ?? NaN;
            expect(Number(found[i]?.[j])).toBe(sum);
          }
        }
      }
    }
  });

  it('adds a long row in float64 and rounds each sum once', async () => {
    const data = Float32Array.from({ length: 100_003 }, (_, k) => 1 + 1 / (k + 3));
    using x = await tensor(data, { device: where() });
    const found = await x.cumSum().toTypedArray();
    let sum = 0;
    const unit = 2 ** -24;
    for (const [k, term] of data.entries()) {
      sum += term;
      // the sum itself is off by at most k units of float64, and is rounded to float32 once
      const bound = sum * (unit + 2 * (k + 1) * 2 ** -53);
      expect(Math.abs((found[k] ?? NaN) - sum), `sum ${k}`).toBeLessThanOrEqual(bound);
    }
  });
}
