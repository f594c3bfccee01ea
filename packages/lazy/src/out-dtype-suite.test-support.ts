import { empty, planOf, tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { genred, jointReduction, lazyI, lazyJ, type OutDType } from './index.js';
import { numbers, upload, type Numbers } from './reference.test-support.js';

const [M, N] = [9, 300];
const [X, Y] = [numbers(31, M, 2), numbers(32, N, 2)];

/** Squared distances and what is reduced of them, in float64. */
const distances = (x: Numbers, y: Numbers): number[][] =>
  Array.from({ length: x.rows }, (_, i) =>
    Array.from({ length: y.rows }, (_row, j) =>
      [0, 1].reduce(
        (sum, c) => sum + ((x.values[2 * i + c] ?? NaN) - (y.values[2 * j + c] ?? NaN)) ** 2,
        0,
      ),
    ),
  );

/** Significant bits of the dtypes. */
const BITS: Readonly<Record<OutDType, number>> = {
  float16: 11,
  bfloat16: 8,
  float32: 24,
  float64: 53,
};

/** A normal number rounded to so many bits, ties to even. */
function rounded(value: number, bits: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) + 1 - bits);
  const whole = value / unit;
  const near = Math.round(whole);
  return (Math.abs(near - whole) === 0.5 && near % 2 !== 0 ? near - 1 : near) * unit;
}

/** The option outDtype, against the results in what is computed in. */
export function describeOutDtypes(device: () => Device): void {
  describe('outDtype', () => {
    it.each([
      ['float32', 'float16'],
      ['float32', 'bfloat16'],
      ['float32', 'float32'],
      ['float64', 'float16'],
      ['float64', 'bfloat16'],
      ['float64', 'float32'],
      ['float64', 'float64'],
    ] as const)('of %s results in %s', async (dtype, outDtype) => {
      const x = lazyI(await upload(X, dtype, device()));
      const y = lazyJ(await upload(Y, dtype, device()));
      const distance = x.sqdist(y);
      const reductions = {
        sum: distance.sum('j', { outDtype }),
        mean: distance.mean('j', { outDtype }),
        lse: distance.logSumExp('j', { outDtype }),
        min: distance.min('j', { outDtype }),
      };
      const plain = {
        sum: distance.sum('j'),
        mean: distance.mean('j'),
        lse: distance.logSumExp('j'),
        min: distance.min('j'),
      };
      const terms = distances(X, Y);
      const meant = {
        sum: (row: number[]) => row.reduce((sum, d) => sum + d),
        mean: (row: number[]) => row.reduce((sum, d) => sum + d) / N,
        lse: (row: number[]) => Math.log(row.reduce((sum, d) => sum + Math.exp(d), 0)),
        min: (row: number[]) => Math.min(...row),
      };
      for (const name of ['sum', 'mean', 'lse', 'min'] as const) {
        const found = await reductions[name];
        expect(found.dtype).toBe(outDtype);
        expect(found.shape).toEqual([M, 1]);
        const whole = [...(await (await plain[name]).toTypedArray())];
        const values = [...(await found.toTypedArray())];
        // One rounding of what was computed, whatever that is.
        expect(values).toEqual(whole.map((value) => rounded(value, BITS[outDtype])));
        for (const [i, value] of values.entries()) {
          const want = meant[name](terms[i] ?? []);
          const error = 2 ** -BITS[outDtype] + 600 * 2 ** -BITS[dtype];
          expect(Math.abs(value - want)).toBeLessThanOrEqual(error * Math.abs(want));
        }
      }
    });

    it('fills outs, also of other strides, and prepared ones', async () => {
      const [x, y] = [
        await upload(X, 'float32', device()),
        await upload(Y, 'float32', device()),
      ] as const;
      const distance = lazyI(x).sqdist(lazyJ(y));
      const place = { dtype: 'bfloat16', device: device() } as const;
      const wanted = await (await distance.sum('j', { outDtype: 'bfloat16' })).toNested();
      const wide = empty([M, 2], place);
      const out = wide.slice(null, [1, 2]);
      expect(await distance.sum('j', { out, outDtype: 'bfloat16' })).toBe(out);
      expect(await out.toNested()).toEqual(wanted);
      await expect(
        distance.sum('j', {
          out: empty([M, 1], { device: device() }) as never,
          outDtype: 'bfloat16',
        }),
      ).rejects.toThrow(/bfloat16/);
      const prepared = await distance.reduction('Sum', 'j').prepare([], { outDtype: 'bfloat16' });
      const again = prepared([]);
      expect(again.dtype).toBe('bfloat16');
      expect(await again.toNested()).toEqual(wanted);
      const into = empty([M, 1], place);
      expect(prepared([], { out: into })).toBe(into);
      expect(await into.toNested()).toEqual(wanted);
      const text = genred('SqDist(x, y)', ['x = Vi(2)', 'y = Vj(2)'], { axis: 'j' });
      const found = await text(x, y, { outDtype: 'bfloat16' });
      expect(await found.toNested()).toEqual(wanted);
      expect(planOf(found)).toBeDefined();
    });

    it('of several reductions, whose row numbers stay', async () => {
      const x = lazyI(await upload(X, 'float32', device()));
      const y = lazyJ(await upload(Y, 'float32', device()));
      const distance = x.sqdist(y);
      const both = jointReduction({
        sum: distance.reduction('Sum', 'j'),
        near: distance.reduction('KMinArgKMin', 'j', { k: 3 }),
      });
      const options = { outDtype: 'float16', indexDtype: 'int64' } as const;
      const { sum, near } = await both.call([], options);
      const plain = await both.call([]);
      expect([sum.dtype, near.values.dtype, near.indices.dtype]).toEqual([
        'float16',
        'float16',
        'int64',
      ]);
      const halves = [...(await plain.near.values.toTypedArray())].map((one) => rounded(one, 11));
      expect([...(await near.values.toTypedArray())]).toEqual(halves);
      expect([...(await near.indices.toTypedArray())].map(Number)).toEqual([
        ...(await plain.near.indices.toTypedArray()),
      ]);
      const many = await distance.reduceMany('j', { sum: 'Sum' }, { outDtype: 'float16' });
      expect(many.sum.dtype).toBe('float16');
      expect(await many.sum.toNested()).toEqual(await sum.toNested());
    });

    it('of dense matrices and products, of inputs in 16 bits too', async () => {
      const x = await tensor([[0.5], [2]], { device: device(), dtype: 'float16' });
      const y = await tensor([[1], [3]], { device: device(), dtype: 'float16' });
      const product = lazyI(x).mul(lazyJ(y));
      const place = { outDtype: 'float16' } as const;
      const found = await product.toDense(place);
      expect(found.dtype).toBe('float16');
      expect(await found.toNested()).toEqual([
        [[0.5], [1.5]],
        [[2], [6]],
      ]);
      expect(await (await product.diag(place)).toNested()).toEqual([[0.5], [6]]);
      const times = await product.matmul([1, 1], place);
      expect([times.dtype, await times.toNested()]).toEqual(['float16', [2, 8]]);
      const bins = await product.histogram('j', { bins: 2, range: [0, 4], ...place });
      expect([bins.dtype, await bins.toNested()]).toEqual([
        'float16',
        [
          [2, 0],
          [0, 1],
        ],
      ]);
      // Sums beyond the range of the dtype are infinite, as casts are.
      const large = await lazyJ(await tensor([[60000], [60000]], { device: device() })).sum(
        'j',
        place,
      );
      expect(await large.toNested()).toEqual([[Infinity]]);
    });

    it('refuses what the values have not', async () => {
      const x = lazyI(await upload(X, 'float32', device()));
      const y = lazyJ(await upload(Y, 'float32', device()));
      const distance = x.sqdist(y);
      await expect(distance.sum('j', { outDtype: 'float64' })).rejects.toThrow(
        /sum: outDtype is float64, and the values are computed in float32/,
      );
      await expect(distance.sum('j', { outDtype: 'int32' as never })).rejects.toThrow(
        /outDtype is "int32". Use one of float16, bfloat16, float32/,
      );
      await expect(distance.argMin('j', { outDtype: 'float16' } as never)).rejects.toThrow(
        /outDtype is for values in results, and ArgMin gives row numbers/,
      );
    });
  });
}
