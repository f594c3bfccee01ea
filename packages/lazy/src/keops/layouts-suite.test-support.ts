import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { gradient, lazyI, lazyJ, type LazyDType } from '../index.js';
import { numbers, upload, type Numbers } from '../reference.test-support.js';
import { at, batched, dot, expectClose, numbersOf, square, sums } from './oracle.test-support.js';

/** Strides, views and outputs of KeOps' tests. */
export function describeKeopsLayouts(device: () => Device): void {
  const put = <D extends LazyDType>(data: readonly Numbers[], dtype: D): Promise<Tensor<D>[]> =>
    Promise.all(data.map((one) => upload(one, dtype, device())));

  describe('layouts and outputs', () => {
    it('batches at other axes, as views', async () => {
      // Batch axes at the end of the memory of x and in the middle of that of y.
      const [M, N, B] = [5, 6, 3];
      const [x, y] = [numbers(27, M * 2, B), numbers(28, N, B * 2)];
      const a = (await put([x], 'float64'))[0]!.reshape([M, 2, B]).permute([2, 0, 1]);
      const b = (await put([y], 'float64'))[0]!.reshape([N, B, 2]).permute([1, 0, 2]);
      const found = await lazyI(a).sqdist(lazyJ(b)).neg().exp().sum('j');
      const wanted = batched(B, (e) =>
        sums(M, N, 1, (i, j) => {
          const d = [0, 1].map((c) => at(x, 2 * i + c, e) - at(y, j, 2 * e + c));
          return Math.exp(-dot(d, d));
        }),
      );
      expectClose(await numbersOf(found), wanted, { atol: 1e-12 });
      // The gradient has the shape of the view.
      const of = lazyI(a).sqdist(lazyJ(b)).reduction('Sum', 'j');
      const seed = await tensor(new Float64Array(B * M).fill(1), {
        shape: [B, M, 1],
        device: device(),
      });
      const slopes = batched(B, (e) =>
        sums(M, N, 2, (i, j, c) => 2 * (at(x, 2 * i + c, e) - at(y, j, 2 * e + c))),
      );
      expectClose(await numbersOf(await gradient(of, lazyI(a), seed)), slopes, { atol: 1e-12 });
    });

    it('transposed storage gives what contiguous storage gives', async () => {
      const near = { low: -0.3, high: 0.3 };
      const data = [
        numbers(29, 300, 5, { batch: [2], ...near }),
        numbers(30, 200, 5, { batch: [2], ...near }),
        numbers(31, 200, 1, { batch: [2] }),
      ] as const;
      const [x, y, v] = await put(data, 'float32');
      const turned = empty([2, 5, 300], { device: device() }).transpose();
      await turned.copyFrom(x!);
      const product = async (rows: Tensor<'float32'>): Promise<number[]> =>
        Array.from(await (await lazyI(rows).sqdist(lazyJ(y!)).exp().matmul(v!)).toTypedArray());
      const [X, Y, V] = data;
      const wanted = batched(2, (e) =>
        sums(300, 200, 1, (i, j) => Math.exp(square(X, i, Y, j, e, e)) * at(V, j, 0, e)),
      );
      const found = await product(turned);
      expectClose(found, await product(x!), { atol: 0, rtol: 0 });
      expectClose(found, wanted, { atol: 1e-3 });
    });

    it('rows of 16 bits, with gradients', async () => {
      const data = [numbers(35, 5, 1), numbers(36, 5, 1)] as const;
      const [x, y] = await put(data, 'float32');
      const [half, other] = [await x!.cast('float16'), await y!.cast('float16')];
      const a = lazyI(half);
      const of = a.sub(lazyJ(other)).square().reduction('Sum', 'i');
      const [rounded, others] = [await half.toTypedArray(), await other.toTypedArray()];
      const [X, Y] = [rounded, others].map((values) => ({
        ...data[0],
        values: Float64Array.from(values),
      }));
      const wanted = sums(5, 5, 1, (j, i) => (at(X!, i) - at(Y!, j)) ** 2);
      expectClose(await numbersOf(await of.call()), wanted, { atol: 1e-5 });
      const seed = await tensor(new Float32Array(5).fill(1), { shape: [5, 1], device: device() });
      const slopes = sums(5, 5, 1, (i, j) => 2 * (at(X!, i) - at(Y!, j)));
      // A gradient may have the dtype of its variable, of 11 bits.
      expectClose(await numbersOf(await gradient(of, a, seed)), slopes, { atol: 1e-5, rtol: 1e-3 });
    });

    it('a large product into an output', async () => {
      const [M, N] = [3000, 2000];
      const near = { low: -0.5, high: 0.5 };
      const data = [numbers(32, M, 3, near), numbers(33, N, 3, near), numbers(34, N, 1)] as const;
      const [x, y, v] = await put(data, 'float64');
      const out = empty([M, 1], { dtype: 'float64', device: device() });
      await lazyI(x!).sub(lazyJ(y!)).sum().neg().exp().matmul(v!, { out });
      // e^-(x - y) is a product, so that one sum serves all rows.
      const [X, Y, V] = data;
      const total = (of: Numbers, row: number): number =>
        at(of, row, 0) + at(of, row, 1) + at(of, row, 2);
      const [sum = NaN] = sums(1, N, 1, (_, j) => Math.exp(total(Y, j)) * at(V, j));
      const wanted = Float64Array.from({ length: M }, (_, i) => Math.exp(-total(X, i)) * sum);
      expectClose(await numbersOf(out), wanted);
    });
  });
}
