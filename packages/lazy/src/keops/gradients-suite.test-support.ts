import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { gradient, lazyI, lazyJ, param, type LazyDType } from '../index.js';
import { numbers, upload, type Numbers } from '../reference.test-support.js';
import {
  at,
  batched,
  differences,
  dot,
  expectClose,
  numbersOf,
  square,
  sums,
  type Loss,
} from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

/** What KeOps' tests do with automatic differentiation. */
export function describeKeopsGradients(device: () => Device): void {
  const put = <D extends LazyDType>(data: readonly Numbers[], dtype: D): Promise<Tensor<D>[]> =>
    Promise.all(data.map((one) => upload(one, dtype, device())));

  describe('gradients of reductions', () => {
    it('of a log-sum-exp, by both sides', async () => {
      const [M, N] = [10, 6];
      const data = [numbers(1, M, 1), numbers(2, N, 1), numbers(3, M, 1)] as const;
      const [x, y, e] = await put(data, 'float64');
      const [a, b] = [lazyI(x!), lazyJ(y!)];
      const [p0, p1] = [0.7, -1.3];
      const of = a.mul(p0).add(b.mul(p1)).reduction('LogSumExp', 'j');
      // p0 x_i leaves the sum: the weights are those of p1 y_j, for every i.
      const total = sums(1, N, 1, (_, j) => Math.exp(p1 * at(data[1], j)))[0] ?? NaN;
      const seeds = data[2].values.reduce((sum, value) => sum + value, 0);
      expectClose(
        await numbersOf(await gradient(of, a, e!)),
        data[2].values.map((seed) => p0 * seed),
        { atol: 1e-6 },
      );
      expectClose(
        await numbersOf(await gradient(of, b, e!)),
        data[1].values.map((value) => (p1 * seeds * Math.exp(p1 * value)) / total),
        { atol: 1e-6 },
      );
    });

    it('of gaussians with batches and scales, once and twice', async () => {
      const [M, N] = [6, 5];
      const data = [
        numbers(4, M, 2, { batch: [3, 1] }),
        numbers(5, N, 2, { batch: [3, 2] }),
        numbers(6, 1, 2, { batch: [2], low: 0.5, high: 1.5 }),
        numbers(7, 1, 2, { low: 0.5, high: 1.5 }),
        numbers(8, M, 1, { batch: [3, 2] }),
        numbers(9, M, 2, { batch: [3, 2] }),
      ] as const;
      const [x, y, s, l, e, f] = await put(data, 'float64');
      const scale = s!.reshape([2, 2]);
      const [a, b, width] = [lazyI(x!), lazyJ(y!), param(scale)];
      const factor = param(l!.reshape([2]));
      const formula = factor.mul(a).sub(b).square().div(width).sum().mul(-0.5).exp();
      const of = formula.reduction('Sum', 'j');

      type Inputs = readonly Numbers[];
      /** The value of the formula, and its derivative by component c of x_i. */
      const value = ([X, Y, S, L]: Inputs, e_: number, i: number, j: number): number => {
        let sum = 0;
        for (const c of [0, 1]) {
          const d = at(L!, 0, c) * at(X!, i, c, Math.floor(e_ / 2)) - at(Y!, j, c, e_);
          sum += d ** 2 / at(S!, 0, c, e_ % 2);
        }
        return Math.exp(-sum / 2);
      };
      const byX = (all: Inputs, e_: number, i: number, j: number, c: number): number => {
        const [X, Y, S, L] = all;
        const d = at(L!, 0, c) * at(X!, i, c, Math.floor(e_ / 2)) - at(Y!, j, c, e_);
        return ((-d * at(L!, 0, c)) / at(S!, 0, c, e_ % 2)) * value(all, e_, i, j);
      };
      const loss: Loss = (all) =>
        dot(
          batched(6, (e_) => sums(M, N, 1, (i, j) => value(all, e_, i, j))),
          all[4]!.values,
        );
      for (const [variable, which] of [
        [a, 0],
        [b, 1],
        [width, 2],
      ] as const) {
        const found = await gradient(of, variable, e!);
        expectClose(await numbersOf(found), differences(loss, data, which), { atol: 1e-6 });
      }
      // The gradient by x, still symbolic, and its gradient by y.
      const first = formula.grad(a, lazyI(e!)).reduction('Sum', 'j');
      const twice: Loss = (all) => {
        const gradients = batched(6, (e_) =>
          sums(M, N, 2, (i, j, c) => at(all[4]!, i, 0, e_) * byX(all, e_, i, j, c)),
        );
        return dot(gradients, all[5]!.values);
      };
      const second = await gradient(first, b, f!);
      expectClose(await numbersOf(second), differences(twice, data, 1), { atol: 1e-6 });
    });

    it('of a log-sum-exp of rectified sums, and mixed second derivatives', async () => {
      const [M, N] = [7, 5];
      const data = [
        numbers(10, M, 3, { batch: [2] }),
        numbers(11, N, 3),
        numbers(12, N, 3, { low: 0.5, high: 2 }),
        numbers(13, M, 1, { batch: [2] }),
        numbers(14, M, 3, { batch: [2] }),
      ] as const;
      const [x, y, s, e, f] = await put(data, 'float64');
      const [a, b, c] = [lazyI(x!), lazyJ(y!), lazyJ(s!)];
      const formula = a.mul(1.5).add(b).relu().mul(c).div(9).sum().add(1).inv().neg();
      const of = formula.reduction('LogSumExp', 'j');
      type Inputs = readonly Numbers[];
      const inner = ([X, Y, S]: Inputs, e_: number, i: number, j: number): number => {
        let sum = 0;
        for (const k of [0, 1, 2])
          sum += (Math.max(0, 1.5 * at(X!, i, k, e_) + at(Y!, j, k)) * at(S!, j, k)) / 9;
        return 1 + sum;
      };
      const totals = (all: Inputs, e_: number): Float64Array =>
        sums(M, N, 1, (i, j) => Math.exp(-1 / inner(all, e_, i, j)));
      const loss: Loss = (all) =>
        dot(
          batched(2, (e_) => totals(all, e_).map(Math.log)),
          all[3]!.values,
        );
      for (const [variable, which] of [
        [a, 0],
        [c, 2],
      ] as const) {
        const found = await gradient(of, variable, e!);
        expectClose(await numbersOf(found), differences(loss, data, which), { atol: 1e-6 });
      }
      // d/dx is the mean of df/dx with weights e^f: a reduction, which has a gradient by y.
      const byX = formula.reduction('SumSoftMaxWeight', 'j', { weight: formula.grad(a) });
      const mixed: Loss = (all) => {
        const gradients = batched(2, (e_) => {
          const total = totals(all, e_);
          return sums(M, N, 3, (i, j, k) => {
            const z = inner(all, e_, i, j);
            const isOn = 1.5 * at(all[0]!, i, k, e_) + at(all[1]!, j, k) >= 0;
            const slope = isOn ? (1.5 * at(all[2]!, j, k)) / 9 / z ** 2 : 0;
            return (Math.exp(-1 / z) * slope) / (total[i] ?? NaN);
          });
        });
        return dot(gradients, all[4]!.values);
      };
      const found = await gradient(byX, b, f!);
      expectClose(await numbersOf(found), differences(mixed, data, 1), { atol: 1e-5 });
    });

    it('of a norm of gaussian sums whose parameters and rows have batches', async () => {
      const [M, N] = [5, 7];
      const data = [
        numbers(15, M, 2, { batch: [3, 1] }),
        numbers(16, N, 2, { batch: [2] }),
        numbers(17, 1, 1, { batch: [2], low: 0.5, high: 2 }),
        numbers(18, N, 2),
      ] as const;
      const [x, y, p, v] = await put(data, 'float64');
      const [a, b, decay, w] = [lazyI(x!), lazyJ(y!), param(p!.reshape([2, 1])), lazyJ(v!)];
      const of = a.sqdist(b).mul(decay).neg().exp().mul(w).reduction('Sum', 'j');
      const result = ([X, Y, P, V]: readonly Numbers[]): Float64Array =>
        batched(6, (e) =>
          sums(M, N, 2, (i, j, c) => {
            const d = square(X!, i, Y!, j, Math.floor(e / 2), e % 2);
            return Math.exp(-at(P!, 0, 0, e % 2) * d) * at(V!, j, c);
          }),
        );
      const norm: Loss = (all) => Math.hypot(...result(all));
      const found = await of.call();
      const wanted = result(data);
      expectClose(await numbersOf(found), wanted, { atol: 1e-12 });
      // The gradient of a norm is the vector over its norm.
      const length = Math.hypot(...wanted);
      const seed = await tensor(
        wanted.map((value) => value / length),
        { shape: found.shape, device: device() },
      );
      for (const [which, variable] of [a, b, decay, w].entries()) {
        const slopes = await gradient(of, variable, seed);
        expectClose(await numbersOf(slopes), differences(norm, data, which), { atol: 1e-6 });
      }
    });

    it('of clamped products', async () => {
      const [M, N] = ownSize([100, 150], [1000, 1000]);
      const wide = { low: -2, high: 2 };
      const data = [numbers(19, M, 3, wide), numbers(20, N, 3, wide), numbers(21, M, 1)] as const;
      const [x, y, e] = await put(data, 'float32');
      const a = lazyI(x!);
      const of = a.mul(lazyJ(y!)).clamp(-1.23, 1.54).sum().square().neg().exp();
      const [X, Y, E] = data;
      const found = await gradient(of.reduction('Sum', 'j'), a, e!);
      const wanted = sums(M, N, 3, (i, j, c) => {
        const products = [0, 1, 2].map((k) => at(X, i, k) * at(Y, j, k));
        const sum = products.reduce((all, z) => all + Math.min(1.54, Math.max(-1.23, z)), 0);
        const isInside = (products[c] ?? NaN) >= -1.23 && (products[c] ?? NaN) <= 1.54;
        return isInside ? -2 * sum * Math.exp(-(sum ** 2)) * at(Y, j, c) * at(E, i) : 0;
      });
      // as KeOps' test allows
      const tolerance = { atol: ownSize(1e-4, 1e-2), rtol: ownSize(1e-4, 1e-3) };
      expectClose(await numbersOf(found), wanted, tolerance);
    });

    it('of a large gaussian times a vector, by the vector', async () => {
      const data = [numbers(22, 1000, 3), numbers(23, 1000, 3), numbers(24, 1000, 1)] as const;
      const [x, y, v] = await put(data, 'float32');
      const w = lazyJ(v!);
      const [X, Y, V] = data;
      const product = lazyI(x!).sqdist(lazyJ(y!)).neg().exp().mul(w);
      const of = product.reduction('Sum', 'j');
      const result = await of.call();
      const wanted = sums(1000, 1000, 1, (i, j) => Math.exp(-square(X, i, Y, j)) * at(V, j));
      expectClose(await numbersOf(result), wanted, { atol: 1e-4 });
      // The result as the cotangent: half the gradient of its squared norm.
      const found = await gradient(of, w, result);
      const slopes = sums(1000, 1000, 1, (j, i) => {
        return Math.exp(-square(X, i, Y, j)) * (wanted[i] ?? NaN);
      });
      expectClose(await numbersOf(found), slopes, { atol: 1e-4 });
      // Linear in the vector: the second gradient is exactly 0.
      const slope = product.grad(w, lazyI(result)).reduction('Sum', 'i');
      const second = await numbersOf(await gradient(slope, w, v!));
      expectClose(second, new Float64Array(1000), { atol: 0, rtol: 0 });
    });

    it('of a log-sum-exp of one tensor on both sides: its two gradients add up', async () => {
      const N = 8;
      const data = [numbers(25, N, 2), numbers(26, N, 1)] as const;
      const [x, e] = await put(data, 'float64');
      const [a, b] = [lazyI(x!), lazyJ(x!)];
      const of = a.sqdist(b).neg().reduction('LogSumExp', 'j');
      const loss: Loss = ([X, E]) =>
        dot(sums(N, N, 1, (i, j) => Math.exp(-square(X!, i, X!, j))).map(Math.log), E!.values);
      const [one, other] = [await gradient(of, a, e!), await gradient(of, b, e!)];
      const second = await numbersOf(other);
      const total = Array.from(
        await numbersOf(one),
        (value, place) => value + (second[place] ?? NaN),
      );
      expectClose(total, differences(loss, data, 0), { atol: 1e-6 });
    });
  });
}
