import { grad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import {
  full,
  gatherRows,
  isTensor,
  random,
  tensor,
  type Device,
  type Tensor,
} from '@mercer/tensor';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  cg,
  denseOperator,
  eigenPro,
  falkon,
  nystrom,
  operator,
  pivotedCholesky,
  type LinearOperator,
} from '../index.js';
import { PoweredOperator } from '../preconditioners/powered-operator.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  solved,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

const N = 40;
const SHIFT = 1e-3;
const points = pointsOf(N);
const key = random.key(5);

const identity = (n: number): number[][] =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (__, j) => Number(i === j)));

const combined = (a: number, x: Matrix, b: number, y: Matrix): number[][] =>
  x.map((row, i) => row.map((one, j) => a * one + b * (y[i]?.[j] as number)));

/** The largest eigenvalue of a matrix similar to a symmetric positive definite one, and its eigenvector, by the power method. */
function dominant(a: Matrix): { readonly value: number; readonly vector: number[] } {
  let vector = a.map((_, i) => 1 + Math.cos(i));
  let value = 0;
  for (let k = 0; k < 3000; k++) {
    const next = times(
      a,
      vector.map((one) => [one]),
    ).flat();
    value = Math.hypot(...next);
    vector = next.map((one) => one / value);
  }
  return { value, vector };
}

/** The condition number of the product of two symmetric positive definite matrices. */
const condition = (p: Matrix, a: Matrix): number =>
  dominant(times(p, a)).value * dominant(times(solved(a, identity(a.length)), inverse(p))).value;

const inverse = (a: Matrix): number[][] => solved(a, identity(a.length));

/** The preconditioner by its formula, of the exact top eigenvectors. */
function dampedBy(a: Matrix, rank: number, shift: number, power: number): number[][] {
  let rest = a;
  const pairs = Array.from({ length: rank }, () => {
    const pair = dominant(rest);
    const { value, vector } = pair;
    rest = rest.map((row, i) =>
      row.map((one, j) => one - value * (vector[i] as number) * (vector[j] as number)),
    );
    return pair;
  });
  const least = (pairs.at(-1)?.value ?? NaN) + shift;
  return identity(a.length).map((row, i) =>
    row.map((one, j) =>
      pairs.reduce((sum, { value, vector }) => {
        const weight = (least / (value + shift)) ** power - 1;
        return sum + weight * (vector[i] as number) * (vector[j] as number);
      }, one),
    ),
  );
}

/** What is left of the trace after each column of a partial Cholesky factor. */
function traces(a: Matrix): number[] {
  const rest = a.map((row) => [...row]);
  const trace = (): number => rest.reduce((sum, row, i) => sum + (row[i] as number), 0);
  const found = [trace()];
  for (let k = 0; k + 1 < a.length; k++) {
    const pivot = rest.reduce(
      (best, row, i) => ((row[i] as number) > (rest[best]?.[best] as number) ? i : best),
      0,
    );
    const line = [...(rest[pivot] as number[])];
    const top = line[pivot] as number;
    for (const [i, row] of rest.entries())
      for (const j of row.keys())
        row[j] = (row[j] as number) - ((line[i] as number) * (line[j] as number)) / top;
    found.push(trace());
  }
  return found;
}

/** Falkon's and EigenPro's preconditioners and the choice of a rank, against matrices by plain loops. */
export function preconditionersSuite(name: string, place: () => Device): void {
  describe(`preconditioners on ${name}`, () => {
    let device: Device;
    let kernel: LinearOperator<'float64'>;
    let b: Tensor<'float64'>;
    const matrixOfIt = async (one: LinearOperator<'float64'>): Promise<Matrix> =>
      nested(await one.dense());
    beforeAll(async () => {
      device = place();
      const x = await float64(points, device);
      kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
      b = await float64(matrixOf(N, 2), device);
    });

    describe('falkon', () => {
      const centres = points.slice(0, 10);
      const cross = points.map(([x = 0]) => centres.map(([y = 0]) => Math.exp(-((x - y) ** 2))));
      const penalty = 1e-3;
      const system = combined(1, times(transposed(cross), cross), penalty * N, gaussian(centres));

      /** The operators of the system, of a dtype. */
      const operators = async <D extends 'float32' | 'float64'>(dtype: D) => {
        const x = await tensor(points, { device, dtype });
        const some = await tensor(centres, { device, dtype });
        const across = lazyI(x).sqdist(lazyJ(some)).neg().exp().asOperator();
        const own = lazyI(some).sqdist(lazyJ(some)).neg().exp().asOperator();
        const whole = across
          .t()
          .matmul(across)
          .add(own.scale(penalty * N));
        return { across, own, whole };
      };

      it('is the inverse of n/m K^2 + penalty n K', async () => {
        const { own } = await operators('float64');
        const jitter = 1e-5;
        using one = await falkon(own, { rows: N, penalty, jitter });
        const definite = gaussian(centres, jitter * centres.length);
        const expected = combined(
          N / centres.length,
          times(definite, definite),
          penalty * N,
          definite,
        );
        const found = await matrixOfIt(one);
        expect(difference(found, inverse(expected))).toBeLessThan(1e-7);
        expect(difference(transposed(found), found)).toBeLessThan(1e-12);
      });

      it('brings the condition number down to a few, and the iterations with it', async () => {
        const { across, own, whole } = await operators('float64');
        using preconditioner = await falkon(own, { rows: N, penalty });
        const p = await matrixOfIt(preconditioner);
        const before = condition(identity(centres.length), system);
        expect(before).toBeGreaterThan(1e4);
        expect(condition(p, system)).toBeLessThan(before / 100);
        const right = await across.rmatvec(b);
        const plain = await cg(whole, right, { rtol: 1e-8 });
        const found = await cg(whole, right, { rtol: 1e-8, preconditioner });
        expect(found.converged).toBe(true);
        expect(found.iterations).toBeLessThan(0.7 * plain.iterations);
        // what it predicts is what elimination predicts
        const truth = solved(system, times(transposed(cross), matrixOf(N, 2)));
        const predicted = times(cross, await nested(found.x));
        expect(difference(predicted, times(cross, truth))).toBeLessThan(1e-5);
      });

      it('serves float32, and centres that are equal', async () => {
        const { across, own, whole } = await operators('float32');
        using preconditioner = await falkon(own, { rows: N, penalty });
        const right = await across.rmatvec(await b.cast('float32'));
        const found = await cg(whole, right, { rtol: 1e-3, preconditioner });
        expect(found.converged).toBe(true);
        const twice = await float64([...centres, ...centres], device);
        const doubled = lazyI(twice).sqdist(lazyJ(twice)).neg().exp().asOperator();
        using one = await falkon(doubled, { rows: N, penalty });
        const p = await matrixOfIt(one);
        for (const [i, row] of p.entries()) expect(row[i]).toBeGreaterThan(0);
      });
    });

    describe('eigenPro', () => {
      it('damps the exact eigenvectors where the sample is all rows', async () => {
        for (const power of [1, 0.95]) {
          using one = await eigenPro(kernel, { rank: 4, sample: N, shift: SHIFT, key, power });
          const expected = dampedBy(gaussian(points), 4, SHIFT, power);
          expect(difference(await matrixOfIt(one), expected)).toBeLessThan(1e-7);
        }
      });

      it('lets Richardson take the steps of the least eigenvalue that it damps', async () => {
        const rank = 3;
        const a = gaussian(points, 0.1);
        const exact = dampedBy(gaussian(points), rank, 0.1, 1);
        const { value } = dominant(times(exact, a));
        using p = await eigenPro(kernel, { rank, sample: 30, shift: 0.1, key, power: 1 });
        const found = await matrixOfIt(p);
        const right = matrixOf(N, 1);
        const run = (by: Matrix): number => {
          let x = right.map(() => [0]);
          for (let k = 0; k < 1500; k++) {
            const r = combined(1, right, -1, times(a, x));
            x = combined(1, x, 1 / value, times(by, r));
          }
          return difference(x, solved(a, right));
        };
        expect(run(found)).toBeLessThan(1e-6);
        expect(run(identity(N))).not.toBeLessThan(1e3);
      });

      it('needs fewer iterations with a part of the rows, and takes equal rows', async () => {
        const system = kernel.shift(SHIFT);
        const plain = await cg(system, b, { rtol: 1e-8 });
        using some = await eigenPro(kernel, { rank: 8, sample: 25, shift: SHIFT, key, power: 1 });
        const found = await cg(system, b, { rtol: 1e-8, preconditioner: some });
        expect(found.converged).toBe(true);
        expect(found.iterations).toBeLessThan(0.7 * plain.iterations);
        const truth = solved(gaussian(points, SHIFT), matrixOf(N, 2));
        expect(difference(await nested(found.x), truth)).toBeLessThan(1e-4);
        const few = points.slice(0, 4);
        const many = await float64(Array.from({ length: 10 }, () => few).flat(), device);
        const equal = lazyI(many).sqdist(lazyJ(many)).neg().exp().asOperator();
        // of rank 4
        using one = await eigenPro(equal, { rank: 30, sample: N, shift: 0.1, key, power: 1 });
        const again = await cg(equal.shift(0.1), b, { rtol: 1e-9, preconditioner: one });
        expect(again.converged).toBe(true);
        expect(again.iterations).toBeLessThan(6);
      });

      it('does the same for float32', async () => {
        const x = await tensor(points, { device, dtype: 'float32' });
        const single = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
        using one = await eigenPro(single, { rank: 4, sample: N, shift: 0.1, key, power: 1 });
        const expected = dampedBy(gaussian(points), 4, 0.1, 1);
        expect(difference(await nested(await one.dense()), expected)).toBeLessThan(1e-3);
      });
    });

    it('pivotedCholesky ends where the trace no longer falls', async () => {
      // smooth, and noise of each row by itself that no column tells of the others
      const noise = 1e-3;
      const a = gaussian(points, noise);
      const measured = traces(a);
      const leastGain = 0.6;
      const wanted = measured.findIndex(
        (left, k) => k >= 10 && left > (1 - leastGain) * (measured[k - 10] as number),
      );
      const stored = denseOperator(await float64(a, device));
      const rankOf = ({ parameters: [basis] }: LinearOperator): number => basis?.shape[1] ?? NaN;
      using chosen = await pivotedCholesky(stored, { rank: N, shift: SHIFT, leastGain });
      expect(rankOf(chosen)).toBe(wanted);
      expect(wanted).toBeGreaterThan(10);
      expect(wanted).toBeLessThan(N);
      using all = await pivotedCholesky(stored, { rank: 30, shift: SHIFT });
      expect(rankOf(all)).toBe(30);
      using most = await pivotedCholesky(stored, { rank: 5, shift: SHIFT, leastGain });
      expect(rankOf(most)).toBe(5);
      const system = stored.shift(SHIFT);
      const plain = await cg(system, b, { rtol: 1e-8 });
      const found = await cg(system, b, { rtol: 1e-8, preconditioner: chosen });
      expect(found.iterations).toBeLessThan(plain.iterations / 2);
    });

    it('pivotedCholesky asks for rows by tensors of the device, and waits after ten of them', async () => {
      const a = await float64(gaussian(points), device);
      const asked: unknown[] = [];
      const stored = denseOperator(a);
      const spy = vi.spyOn(stored, 'rows').mockImplementation((indices) => {
        asked.push(indices);
        return gatherRows(a, indices as Tensor<'int32'>);
      });
      const reads = vi.spyOn(Object.getPrototypeOf(a) as Tensor, 'toNested');
      using one = await pivotedCholesky(stored, { rank: 14, shift: SHIFT });
      expect(reads.mock.calls.length).toBe(3);
      reads.mockRestore();
      spy.mockRestore();
      expect(asked).toHaveLength(14);
      expect(asked.every((at) => isTensor(at))).toBe(true);
      using other = await pivotedCholesky(denseOperator(a), { rank: 14, shift: SHIFT });
      expect(await matrixOfIt(one)).toEqual(await matrixOfIt(other));
    });

    it('pivotedCholesky of rank below what is asked for, and of rows that are not finite', async () => {
      const two = identity(N).map((row, i) => row.map((one) => (i < 2 ? 4 * one : 0)));
      const low = denseOperator(await float64(two, device));
      using one = await pivotedCholesky(low, { rank: 25, shift: SHIFT });
      expect(one.parameters[0]?.shape[1]).toBe(2);
      const broken = operator({
        shape: [N, N],
        dtype: 'float64',
        device,
        matvec: (v) => v.mul(1),
        diagonal: () => full([N], 1, { device, dtype: 'float64' }),
        rows: (indices) => full([indices.length, N], NaN, { device, dtype: 'float64' }),
      });
      for (const rank of [1, 12])
        await expect(pivotedCholesky(broken, { rank, shift: SHIFT })).rejects.toMatchObject({
          code: 'NOT_FINITE',
          message: expect.stringContaining('pivotedCholesky: a row of the operator') as string,
        });
    });

    it('pivotedCholesky is made inside grad, of every kind of operator', async () => {
      const x = await float64(points.slice(0, 20), device);
      const right = await float64(matrixOf(20, 2), device);
      const of: Readonly<
        Record<string, (k: LinearOperator<'float64'>) => LinearOperator<'float64'>>
      > = {
        lazy: (k) => k,
        sum: (k) => k.add(k.scale(0.5)),
        shifted: (k) => k.shift(0.01),
        gram: (k) => k.add(k.t()).scale(0.5),
      };
      for (const make of Object.values(of)) {
        const energy = (isClose: boolean) => async (at: Tensor<'float64'>) => {
          const k = make(lazyI(at).sqdist(lazyJ(at)).neg().exp().asOperator());
          const preconditioner = isClose
            ? await pivotedCholesky(k, { rank: 12, shift: 0.1 })
            : undefined;
          const { x: found } = await cg(k.shift(0.1), right, { rtol: 1e-12, preconditioner });
          return found.mul(right).sum();
        };
        const plain = await nested(await grad(energy(false))(x));
        expect(difference(await nested(await grad(energy(true))(x)), plain)).toBeLessThan(1e-8);
      }
    });

    it('nystrom ends where the trace no longer falls, by the traces of its own vectors', async () => {
      const a = gaussian(points, 1e-3);
      const stored = denseOperator(await float64(a, device));
      const leastGain = 0.7;
      // what is left of the trace: that of a - a Q (Q^T a Q)^-1 Q^T a, by elimination; Q spans what the drawn vectors span
      const drawn = await nested(await random.normal([N, N], { key, device, dtype: 'float64' }));
      const leftAfter = (count: number): number => {
        const some = drawn.map((row) => row.slice(0, count));
        const y = times(a, some);
        const part = times(y, solved(times(transposed(some), y), transposed(y)));
        return a.reduce((sum, row, i) => sum + (row[i] as number) - (part[i]?.[i] as number), 0);
      };
      const left = [0, 10, 20, 30].map((count) =>
        count === 0 ? a.length * 1.001 : leftAfter(count),
      );
      const wanted = left.findIndex(
        (one, k) => k > 0 && one > (1 - leastGain) * (left[k - 1] ?? 0),
      );
      expect(wanted).toBeGreaterThan(1);
      expect(wanted).toBe(3);
      const rankOf = ({ parameters: [basis] }: LinearOperator): number => basis?.shape[1] ?? NaN;
      using chosen = await nystrom(stored, { rank: N, shift: SHIFT, key, leastGain });
      expect(rankOf(chosen)).toBe(10 * wanted);
      using most = await nystrom(stored, { rank: 5, shift: SHIFT, key, leastGain });
      expect(rankOf(most)).toBe(5);
      using plain = await nystrom(stored, { rank: 5, shift: SHIFT, key });
      expect(difference(await matrixOfIt(most), await matrixOfIt(plain))).toBeLessThan(1e-9);
      const { iterations } = await cg(stored.shift(SHIFT), b, { rtol: 1e-8 });
      const found = await cg(stored.shift(SHIFT), b, { rtol: 1e-8, preconditioner: chosen });
      expect(found.iterations).toBeLessThan(iterations / 2);
    });

    it('nystrom of random columns takes rows of the operator, and no product', async () => {
      const a = await float64(gaussian(points), device);
      const stored = denseOperator(a);
      const product = vi.spyOn(stored, 'matvec');
      using all = await nystrom(stored, { rank: N, shift: SHIFT, key, columns: true });
      expect(product.mock.calls).toEqual([]);
      // of all columns the approximation is the operator itself, but for what rounding adds to its diagonal
      const expected = inverse(gaussian(points, SHIFT));
      expect(difference(await matrixOfIt(all), expected)).toBeLessThan(1e-6);
      const system = stored.shift(SHIFT);
      const { iterations } = await cg(system, b, { rtol: 1e-8 });
      using some = await nystrom(stored, { rank: 12, shift: SHIFT, key, columns: true });
      const found = await cg(system, b, { rtol: 1e-8, preconditioner: some });
      expect(found.converged).toBe(true);
      expect(found.iterations).toBeLessThan(iterations / 2);
      // ten at a time they are the same columns
      const fifteen = { rank: 15, shift: SHIFT, key, columns: true };
      using once = await nystrom(stored, fifteen);
      using twice = await nystrom(stored, { ...fifteen, leastGain: 1e-9 });
      expect(difference(await matrixOfIt(twice), await matrixOfIt(once))).toBeLessThan(1e-9);
      using few = await nystrom(stored, { ...fifteen, leastGain: 0.999 });
      expect(few.parameters[0]?.shape).toEqual([N, 10]);
    });

    it('low rank does not cancel in float32 where eigenvalues are far above the shift', async () => {
      // eigenvalues of 1e10 beside a shift of 1
      const large = points.map((_, i) => points.map((__, j) => 1e10 * (Math.cos(i) * Math.cos(j))));
      const single = denseOperator(await tensor(large, { device, dtype: 'float32' }));
      using one = await pivotedCholesky(single, { rank: 1, shift: 1 });
      using other = await nystrom(single, { rank: 1, shift: 1, key });
      const size = points.reduce((sum, _, i) => sum + Math.cos(i) ** 2, 0);
      const direction = points.map((_, i) => [Math.cos(i) / Math.sqrt(size)]);
      const v = await tensor(direction, { device, dtype: 'float32' });
      // of the direction of the eigenvector, 1 / (value + shift), and that is all that is left of it
      const along = async (p: LinearOperator<'float32'>): Promise<number> =>
        times(transposed(direction), await nested(await p.matvec(v)))[0]?.[0] as number;
      const expected = 1 / (1e10 * size);
      for (const p of [one, other])
        expect(Math.abs((await along(p)) / expected - 1)).toBeLessThan(0.1);
    });

    it('low rank is positive definite where eigenvalues are 1e12 times the shift', async () => {
      const a = gaussian(points).map((row) => row.map((one) => 1e10 * one));
      const stored = denseOperator(await float64(a, device));
      const given = { rank: 25, shift: 0.1 };
      using first = await pivotedCholesky(stored, given);
      using second = await nystrom(stored, { ...given, key });
      using third = await nystrom(stored, { ...given, key, columns: true });
      const { value, vector } = dominant(a);
      for (const one of [first, second, third]) {
        const image = times(
          await matrixOfIt(one),
          vector.map((x) => [x]),
        ).flat();
        const along = image.reduce((sum, x, i) => sum + x * (vector[i] as number), 0);
        expect(along * (value + given.shift)).toBeCloseTo(1, 1);
      }
    });

    it('low rank has a determinant where the shift is below rounding', async () => {
      const given = { rank: N, shift: 1e-20 };
      using first = await pivotedCholesky(kernel, given);
      using second = await nystrom(kernel, { ...given, key });
      using third = await nystrom(kernel, { ...given, key, columns: true });
      for (const one of [first, second, third]) {
        if (!(one instanceof PoweredOperator)) throw new TypeError('its determinant is not known');
        expect(await one.logdet()).toSatisfy(Number.isFinite);
      }
    });

    it('errors name the preconditioner that was called', async () => {
      const negative = kernel.scale(-1);
      await expect(nystrom(negative, { rank: 3, shift: 1, key })).rejects.toMatchObject({
        name: 'LinalgError',
        code: 'NOT_POSITIVE_DEFINITE',
        message: expect.stringContaining(
          "nystrom: the matrix of the operator's products with random vectors is",
        ) as string,
      });
      await expect(falkon(negative, { rows: N, penalty: 1 })).rejects.toMatchObject({
        code: 'NOT_POSITIVE_DEFINITE',
        message: expect.stringContaining(
          "falkon: the centres' matrix with its jitter is",
        ) as string,
      });
      for (const call of [eigenPro, nystrom] as const)
        await expect(call(kernel, { rank: 3, shift: 1, key: 5 as never })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(/^(eigenPro|nystrom): key is 5/) as string,
        });
      const noDiagonal = operator({
        shape: [N, N],
        dtype: 'float64',
        device,
        matvec: (v) => v.mul(1),
      });
      await expect(
        nystrom(noDiagonal, { rank: 3, shift: 1, key, leastGain: 0.5 }),
      ).rejects.toMatchObject({ code: 'UNSUPPORTED' });
      await expect(
        nystrom(kernel, { rank: 3, shift: 1, key, columns: 1 as never }),
      ).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('nystrom: columns is 1') as string,
      });
      await expect(nystrom(kernel, { rank: 3, shift: 1, key, leastGain: 1 })).rejects.toMatchObject(
        { message: expect.stringContaining('nystrom: leastGain is 1') as string },
      );
    });

    it('have no influence on gradients', async () => {
      const x = await float64(points.slice(0, 8), device);
      const right = await float64(
        matrixOf(8, 1).map(([one]) => [one as number]),
        device,
      );
      const operatorOf = (at: Tensor<'float64'>): LinearOperator<'float64'> =>
        lazyI(at).sqdist(lazyJ(at)).neg().exp().asOperator();
      using one = await eigenPro(operatorOf(x), { rank: 3, sample: 8, shift: 0.1, key });
      using other = await falkon(operatorOf(x), { rows: 8, penalty: 0.1 });
      const energy =
        (preconditioner?: LinearOperator<'float64'>) => async (at: Tensor<'float64'>) =>
          (await cg(operatorOf(at).shift(0.1), right, { rtol: 1e-12, preconditioner })).x
            .mul(right)
            .sum();
      const truth = await nested(await grad(energy())(x));
      for (const preconditioner of [one, other]) {
        const found = await nested(await grad(energy(preconditioner))(x));
        expect(difference(found, truth)).toBeLessThan(1e-8);
      }
    });

    it('keep no memory', async () => {
      const call = async (): Promise<void> => {
        using _first = await falkon(kernel, { rows: N, penalty: 1e-3, jitter: 1e-3 });
        using _second = await eigenPro(kernel, { rank: 3, sample: 9, shift: 0.1, key });
        using _fourth = await nystrom(kernel, { rank: 20, shift: 0.1, key, leastGain: 0.5 });
        using _fifth = await nystrom(kernel, { rank: 5, shift: 0.1, key, columns: true });
        using _third = await pivotedCholesky(kernel, { rank: 9, shift: 0.1, leastGain: 0.5 });
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
