import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { gradient, lazyI, lazyJ, param } from '../index.js';
import { numbers, upload, type Numbers } from '../reference.test-support.js';
import {
  at,
  differences,
  dot,
  expectClose,
  numbersOf,
  square,
  sums,
} from './oracle.test-support.js';

const [M, N, D] = [3, 4, 2];
/** Numbers of x, and of the sums. */
const SIZE = M * D;
const CLOSE = { atol: 1e-7, rtol: 1e-6 } as const;

type Inputs = readonly Numbers[];

/** `sum_j exp(-p |x_i - y_j|^2) b_j`, two numbers for every i. */
const gaussians = ([x, y, p, b]: Inputs): Float64Array =>
  sums(M, N, D, (i, j, c) => Math.exp(-at(p!, 0) * square(x!, i, y!, j)) * at(b!, j, c));

/** `log sum_j g_j exp(-|x_i - y_j|^2)` */
const logSums = ([x, y, g]: Inputs): Float64Array =>
  sums(M, N, 1, (i, j) => at(g!, j) * Math.exp(-square(x!, i, y!, j))).map(Math.log);

/** The derivative of numbers along directions of their inputs, by central differences. */
function slopes(of: (all: Inputs) => Float64Array, data: Inputs, along: Inputs): Float64Array {
  const step = 1e-5;
  const moved = (by: number): Float64Array =>
    of(
      data.map((one, k) => ({
        ...one,
        values: one.values.map((value, place) => value + by * (along[k]?.values[place] ?? 0)),
      })),
    );
  const [up, down] = [moved(step), moved(-step)];
  return up.map((value, k) => (value - (down[k] ?? NaN)) / (2 * step));
}

const unit = (place: number): Float64Array => new Float64Array(SIZE).fill(1, place, place + 1);
const UNITS = Float64Array.from(Array.from({ length: SIZE }, (_, k) => [...unit(k)]).flat());
const asX = (values: Float64Array): Numbers => ({ batch: [], rows: M, dim: D, values });

/** Derivatives in both modes, whole Jacobians by batch axes, and Hessians, as KeOps tests them through torch's functions. */
export function describeKeopsJacobians(device: () => Device): void {
  describe('Jacobians and Hessians', () => {
    const data = [
      numbers(61, M, D),
      numbers(62, N, D),
      numbers(63, 1, 1, { low: 0.5, high: 1.5 }),
      numbers(64, N, D),
    ] as const;
    const put = (one: Numbers): Promise<Tensor<'float64'>> => upload(one, 'float64', device());
    const units = (): Promise<Tensor<'float64'>> =>
      tensor(UNITS, { shape: [SIZE, M, D], device: device() });

    it('of gaussian sums, along directions of every input at once', async () => {
      const along = data.map((one, k) => numbers(71 + k, one.rows, one.dim));
      const [x, y, p, b] = await Promise.all(data.map(put));
      const [u, v, q, c] = await Promise.all(along.map(put));
      const [a, z, decay, w] = [lazyI(x!), lazyJ(y!), param(p!.reshape([1])), lazyJ(b!)];
      const formula = a.sqdist(z).mul(decay).neg().exp().mul(w);
      const tangent = formula
        .diff(a, lazyI(u!))
        .add(formula.diff(z, lazyJ(v!)))
        .add(formula.diff(decay, param(q!.reshape([1]))))
        .add(formula.diff(w, lazyJ(c!)));
      expectClose(await numbersOf(await tangent.sum('j')), slopes(gaussians, data, along), CLOSE);
    });

    it('of gaussian sums by x, row by row and column by column; the Hessian of their norm', async () => {
      const [x, y, p, b] = await Promise.all(data.map(put));
      const each = await units();
      const a = lazyI(x!.broadcastTo([SIZE, M, D]));
      const kernel = a
        .sqdist(lazyJ(y!))
        .mul(param(p!.reshape([1])))
        .neg()
        .exp();
      const formula = kernel.mul(lazyJ(b!));
      const wanted = Array.from({ length: SIZE }, (_, k) =>
        slopes(gaussians, data, [asX(unit(k))]),
      );
      const columns = await numbersOf(await formula.diff(a, lazyI(each)).sum('j'));
      expectClose(
        columns,
        wanted.flatMap((column) => [...column]),
        CLOSE,
      );
      const rows = await numbersOf(await gradient(formula.reduction('Sum', 'j'), a, each));
      expectClose(
        rows,
        wanted.flatMap((_, out) => wanted.map((column) => column[out] ?? NaN)),
        CLOSE,
      );

      // The Hessian of |s|: that of <n, s> for the direction n of s, and what turns n.
      const sum = gaussians(data);
      const length = Math.hypot(...sum);
      const normal = sum.map((value) => value / length);
      const seed = lazyI(await put(asX(normal)));
      const bent = await numbersOf(
        await gradient(formula.grad(a, seed).reduction('Sum', 'j'), a, each),
      );
      const found = Array.from({ length: SIZE * SIZE }, (_, flat) => {
        const [k, l] = [Math.floor(flat / SIZE), flat % SIZE];
        const [f, g] = [wanted[k] ?? [], wanted[l] ?? []];
        return (bent[flat] ?? NaN) + (dot(f, g) - dot(f, normal) * dot(g, normal)) / length;
      });
      const slopeOfNorm = ([X, Y, P, B]: Inputs): Float64Array => {
        const s = gaussians([X!, Y!, P!, B!]);
        const norm = Math.hypot(...s);
        return sums(M, N, D, (i, j, c) => {
          const share =
            (at(B!, j, 0) * (s[D * i] ?? NaN) + at(B!, j, 1) * (s[D * i + 1] ?? NaN)) / norm;
          const decay = at(P!, 0);
          const value = Math.exp(-decay * square(X!, i, Y!, j));
          return -2 * decay * (at(X!, i, c) - at(Y!, j, c)) * value * share;
        });
      };
      const hessian = Array.from({ length: SIZE }, (_, k) => [
        ...slopes(slopeOfNorm, data, [asX(unit(k))]),
      ]);
      expectClose(found, hessian.flat(), CLOSE);
    });

    it('of weighted log-sum-exps: both modes, by the weight too, and the Hessian', async () => {
      const some = [data[0], data[1], numbers(65, N, 1, { low: 0.5, high: 2 })] as const;
      const [x, y, g] = await Promise.all(some.map(put));
      const e = numbers(66, M, 1);
      const seed = await put(e);
      const [a, z, weight] = [lazyI(x!), lazyJ(y!), lazyJ(g!)];
      const formula = a.sqdist(z).neg();
      const of = formula.reduction('LogSumExp', 'j', { weight });
      const loss = (all: Inputs): number => dot(logSums(all), e.values);
      for (const [which, variable] of [a, z, weight].entries()) {
        const found = await gradient(of, variable, seed);
        expectClose(await numbersOf(found), differences(loss, some, which), CLOSE);
      }
      // Along u: the mean of the formula's slope, with weights g e^formula.
      const mean = formula.add(weight.log());
      const direction = numbers(67, M, D);
      const slope = await mean.sumSoftMaxWeight(formula.diff(a, lazyI(await put(direction))), 'j');
      expectClose(await numbersOf(slope), slopes(logSums, some, [direction]), CLOSE);
      // The gradient as means of slopes is a reduction, which is differentiated again.
      const [wide, each] = [lazyI(x!.broadcastTo([SIZE, M, D])), await units()];
      const distance = wide.sqdist(z).neg();
      const gradients = distance
        .add(weight.log())
        .reduction('SumSoftMaxWeight', 'j', { weight: distance.grad(wide) });
      const slopesOfX = ([X, Y, G]: Inputs): Float64Array => {
        const total = sums(M, N, 1, (i, j) => at(G!, j) * Math.exp(-square(X!, i, Y!, j)));
        return sums(M, N, D, (i, j, c) => {
          const share = (at(G!, j) * Math.exp(-square(X!, i, Y!, j))) / (total[i] ?? NaN);
          return -2 * (at(X!, i, c) - at(Y!, j, c)) * share;
        });
      };
      const hessian = Array.from({ length: SIZE }, (_, k) => [
        ...slopes(slopesOfX, some, [asX(unit(k))]),
      ]);
      expectClose(await numbersOf(await gradient(gradients, wide, each)), hessian.flat(), CLOSE);
    });
  });
}
