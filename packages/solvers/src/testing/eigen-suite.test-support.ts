import { lazyI, lazyJ } from '@mercer/lazy';
import { eigh } from '@mercer/linalg';
import { eye, random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  denseOperator,
  eigsh,
  jacobi,
  kroneckerOperator,
  lanczos,
  lobpcg,
  operator,
  type EigenSolution,
  type LinearOperator,
} from '../index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

/** Rows of a kernel matrix, and of a grid's side. */
const N = 90;
const SIDE = 12;
const kernelMatrix = gaussian(pointsOf(N), 0.01);
const key = random.key(3);

/** Eigenvalues of the Laplacian of a square grid: sums of those of a line, most of them twice. */
const line = Array.from(
  { length: SIDE },
  (_, at) => 2 - 2 * Math.cos((Math.PI * (at + 1)) / (SIDE + 1)),
);
const gridValues = line.flatMap((a) => line.map((b) => a + b)).sort((a, b) => a - b);

const identity = (n: number): number[][] =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)));

const numbers = async (x: Tensor): Promise<number[]> => x.toNested<number[]>();

/** Whether a device gives this whole matrix, by an operator that counts its products. */
function counted(matrix: Tensor<'float64'>): {
  readonly of: LinearOperator<'float64'>;
  readonly calls: () => number;
} {
  const own = denseOperator(matrix);
  let calls = 0;
  const of = operator({
    shape: own.shape,
    dtype: 'float64',
    device: own.device,
    rmatvec: 'symmetric',
    matvec: (v: Tensor<'float64'>) => {
      calls++;
      return own.matvec(v);
    },
  });
  return { of, calls: () => calls };
}

/** Lanczos, eigsh and lobpcg against closed forms and dense eigenvalues in float64. */
export function eigenSuite(name: string, place: () => Device): void {
  let device: Device;
  let kernel: LinearOperator<'float64'>;
  let grid: LinearOperator<'float64'>;
  let kernelValues: number[];
  beforeAll(async () => {
    device = place();
    const x = await float64(pointsOf(N), device);
    kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator().shift(0.01);
    const path = await float64(
      line.map((_, i) => line.map((_, j) => (i === j ? 2 : Math.abs(i - j) === 1 ? -1 : 0))),
      device,
    );
    const one = await eye(SIDE, { device, dtype: 'float64' });
    grid = kroneckerOperator(path, one).add(kroneckerOperator(one, path));
    const { values } = await eigh(await tensor(kernelMatrix, { device: 'cpu', dtype: 'float64' }));
    kernelValues = await numbers(values);
  });

  describe(`lanczos on ${name}`, () => {
    it('gives an orthonormal basis from the start, and the tridiagonal matrix of the operator in it', async () => {
      const start = await float64(matrixOf(N, 1, 4), device);
      const steps = 25;
      const found = await lanczos(kernel, { start: start.reshape([N]), steps });
      const [basis, t] = [await nested(found.basis), await nested(found.tridiagonal)];
      expect([found.steps, found.invariant]).toEqual([steps, false]);
      expect(difference(times(transposed(basis), basis), identity(steps))).toBeLessThan(1e-14);
      expect(difference(times(transposed(basis), times(kernelMatrix, basis)), t)).toBeLessThan(
        1e-14,
      );
      for (const [i, row] of t.entries())
        for (const [j, one] of row.entries()) if (Math.abs(i - j) > 1) expect(one).toBe(0);
      const first = transposed(await nested(start));
      const length = Math.hypot(...(first[0] as number[]));
      const scaled = first.map((row) => row.map((one) => one / length));
      expect(difference([transposed(basis)[0] as number[]], scaled)).toBeLessThan(1e-14);
      // A Q - Q T has one column, whose norm is the remainder
      const rest = times(kernelMatrix, basis).map((row, i) =>
        row.map((one, j) => one - (times(basis, t)[i]?.[j] as number)),
      );
      const lengths = transposed(rest).map((column) => Math.hypot(...column));
      expect(Math.max(...lengths.slice(0, -1))).toBeLessThan(1e-13);
      expect(Math.abs((lengths.at(-1) as number) - found.remainder)).toBeLessThan(1e-13);
    });

    it('ends where the space is invariant, with eigenvalues of the operator', async () => {
      const values = [5, 5, 3, 3, 3, 1, 1, 0];
      const diagonal = values.map((one, i) => values.map((_, j) => (i === j ? one : 0)));
      const start = await float64(
        values.map(() => [1]),
        device,
      );
      const found = await lanczos(denseOperator(await float64(diagonal, device)), {
        start: start.reshape([8]),
        steps: 8,
      });
      expect([found.steps, found.remainder, found.invariant]).toEqual([4, 0, true]);
      expect([found.basis.shape, found.tridiagonal.shape]).toEqual([[8, 4], [4, 4]]); // prettier-ignore
      const { values: inner } = await eigh(await found.tridiagonal.to('cpu'));
      expect(difference([await numbers(inner)], [[0, 1, 3, 5]])).toBeLessThan(1e-14);
    });

    it('of an operator 0, and by as many steps as rows', async () => {
      const none = denseOperator(await float64(identity(4), device)).scale(0);
      const found = await lanczos(none, { key, steps: 3 });
      expect([found.steps, found.invariant, await nested(found.tridiagonal)]).toEqual([1, true, [[0]]]); // prettier-ignore
      const matrix = gaussian(pointsOf(6));
      const whole = await lanczos(denseOperator(await float64(matrix, device)), { key, steps: 6 });
      const basis = await nested(whole.basis);
      const back = times(times(basis, await nested(whole.tridiagonal)), transposed(basis));
      expect(difference(back, matrix)).toBeLessThan(1e-13);
    });

    it('float32 stays orthonormal to its rounding', async () => {
      const single = denseOperator(await tensor(kernelMatrix, { device, dtype: 'float32' }));
      const { basis, steps } = await lanczos(single, { key, steps: 40 });
      // the rest of a kernel matrix is rounding
      expect(steps).toBeGreaterThan(15);
      const q = await nested(basis);
      expect(difference(times(transposed(q), q), identity(steps))).toBeLessThan(1e-6);
    });

    it('keeps no memory', async () => {
      const call = async (): Promise<void> => {
        const found = await lanczos(kernel, { key, steps: 12 });
        found.basis.dispose();
        found.tridiagonal.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });

  /** Checks pairs against the values that there are, and their residuals against products on the host. */
  async function expectPairs(
    found: EigenSolution<'float64'>,
    expected: readonly number[],
    products: (v: Matrix) => Matrix,
    rtol = 1e-8,
  ): Promise<void> {
    const [values, vectors] = [await numbers(found.values), await nested(found.vectors)];
    const k = expected.length;
    const scale = Math.max(...expected.map(Math.abs));
    expect(values.length).toBe(k);
    for (const [at, one] of values.entries())
      expect(Math.abs(one - (expected[at] as number))).toBeLessThan(1e-12 * Math.max(1, scale));
    expect(difference(times(transposed(vectors), vectors), identity(k))).toBeLessThan(1e-12);
    const images = transposed(products(vectors));
    const columns = transposed(vectors);
    for (const [j, image] of images.entries()) {
      const rest = image.map((one, i) => one - (values[j] as number) * (columns[j]?.[i] as number));
      expect(Math.hypot(...rest)).toBeLessThanOrEqual(rtol * 10 * Math.max(1, scale));
    }
    expect(found.converged).toBe(true);
    for (const one of found.residuals) expect(one).toBeLessThanOrEqual(rtol);
    expect(found.residuals.length).toBe(k);
  }

  const ofKernel = (v: Matrix): Matrix => times(kernelMatrix, v);
  const ofGrid = (v: Matrix): Matrix =>
    v.map((_, at) => {
      const [i, j] = [Math.floor(at / SIDE), at % SIDE];
      const near = [i > 0 ? at - SIDE : -1, i < SIDE - 1 ? at + SIDE : -1, j > 0 ? at - 1 : -1, j < SIDE - 1 ? at + 1 : -1]; // prettier-ignore
      return (v[0] ?? []).map((_, k) =>
        near.reduce(
          (sum, one) => sum - (one < 0 ? 0 : (v[one]?.[k] as number)),
          4 * (v[at]?.[k] as number),
        ),
      );
    });

  describe(`eigsh on ${name}`, () => {
    it('finds the largest of a kernel matrix, and says true residuals', async () => {
      const found = await eigsh(kernel, { k: 5, key });
      await expectPairs(found, kernelValues.toReversed().slice(0, 5), ofKernel);
      expect(found.iterations).toBeGreaterThan(0);
    });

    it.each([
      ['largest', 1],
      ['largest', 7],
      ['smallest', 1],
      ['smallest', 7],
    ] as const)('finds the %s %d of a grid, each as often as it is there', async (which, k) => {
      const expected = which === 'largest' ? gridValues.toReversed() : gridValues;
      await expectPairs(await eigsh(grid, { k, which, key }), expected.slice(0, k), ofGrid);
    });

    it('finds those of the largest magnitude at both ends', async () => {
      // from -4.5 to 3.5, shifted so that the order alternates
      const shifted = grid.shift(-4.2);
      const values = gridValues.map((one) => one - 4.2).sort((a, b) => Math.abs(b) - Math.abs(a));
      const products = (v: Matrix): Matrix =>
        ofGrid(v).map((row, i) => row.map((one, j) => one - 4.2 * (v[i]?.[j] as number)));
      const found = await eigsh(shifted, { k: 6, which: 'magnitude', key });
      expect(values.slice(0, 6).some((one) => one > 0)).toBe(true);
      await expectPairs(found, values.slice(0, 6), products);
    });

    it('of the identity and of 0, whose Krylov spaces are invariant', async () => {
      const unit = operator({
        shape: [60, 60],
        dtype: 'float64',
        device,
        rmatvec: 'symmetric',
        matvec: (v: Tensor<'float64'>) => v.clone(),
      });
      await expectPairs(await eigsh(unit, { k: 5, key }), [1, 1, 1, 1, 1], (v) => v);
      const none = await eigsh(unit.scale(0), { k: 5, key });
      expect([await numbers(none.values), none.converged]).toEqual([[0, 0, 0, 0, 0], true]);
    });

    it('stores and factors a small matrix, to all its pairs', async () => {
      const matrix = gaussian(pointsOf(6));
      const { of, calls } = counted(await float64(matrix, device));
      const found = await eigsh(of, { k: 6, which: 'smallest', key });
      const { values } = await eigh(await tensor(matrix, { device: 'cpu', dtype: 'float64' }));
      await expectPairs(found, await numbers(values), (v) => times(matrix, v));
      expect([found.iterations, calls()]).toEqual([0, 2]);
    });

    it('makes no more products than maxIterations, and says that it has not converged', async () => {
      const found = await eigsh(grid, { k: 6, which: 'smallest', key, maxIterations: 9 });
      expect([found.converged, found.iterations]).toEqual([false, 9]);
      expect(Math.max(...found.residuals)).toBeGreaterThan(1e-8);
      const few = await eigsh(grid, { k: 6, which: 'smallest', key, maxIterations: 1 });
      expect([few.values.shape, few.converged]).toEqual([[6], false]);
    });

    it('a tolerance out of reach ends by stagnation, with what rounding allows', async () => {
      const found = await eigsh(kernel, { k: 3, key, rtol: 0, maxIterations: 10_000 });
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(1000);
      expect(Math.max(...found.residuals)).toBeLessThan(1e-13);
    });

    it('float32 is done at 1e-5', async () => {
      const single = denseOperator(await tensor(kernelMatrix, { device, dtype: 'float32' }));
      const { values, converged } = await eigsh(single, { k: 4, key });
      expect([values.dtype, converged]).toEqual(['float32', true]);
      const expected = kernelValues.toReversed().slice(0, 4);
      expect(difference([await numbers(values)], [expected])).toBeLessThan(1e-6);
    });

    it('the same key gives the same bits', async () => {
      const [a, b] = [await eigsh(grid, { k: 3, key }), await eigsh(grid, { k: 3, key })];
      expect(await nested(a.vectors)).toEqual(await nested(b.vectors));
    });

    it('keeps no memory, also where it is aborted', async () => {
      const call = async (): Promise<void> => {
        const found = await eigsh(grid, { k: 4, which: 'smallest', key });
        found.values.dispose();
        found.vectors.dispose();
        const controller = new AbortController();
        const onIteration = (): void => controller.abort(new Error('enough'));
        const options = { k: 4, key, rtol: 0, onIteration, signal: controller.signal };
        await expect(eigsh(grid, options)).rejects.toThrow('enough');
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });

    it('the host looks once a restart', async () => {
      const seen: number[] = [];
      const onIteration = ({ iterations }: { readonly iterations: number }): void =>
        void seen.push(iterations);
      const found = await eigsh(grid, { k: 4, which: 'smallest', key, onIteration });
      expect(seen.at(-1)).toBe(found.iterations);
      for (const [at, one] of seen.entries())
        if (at > 0) expect(one - (seen[at - 1] as number)).toBe(5);
    });
  });

  describe(`lobpcg on ${name}`, () => {
    const startOf = (n: number, k: number): Promise<Tensor<'float64'>> =>
      random.normal([n, k], { key: random.key(5), device, dtype: 'float64' });

    it.each([
      ['largest', 1],
      ['largest', 7],
      ['smallest', 1],
      ['smallest', 7],
    ] as const)('finds the %s %d of a grid, each as often as it is there', async (which, k) => {
      const expected = which === 'largest' ? gridValues.toReversed() : gridValues;
      const found = await lobpcg(grid, await startOf(SIDE * SIDE, k), { which });
      await expectPairs(found, expected.slice(0, k), ofGrid);
    });

    it('needs fewer products with a preconditioner', async () => {
      const n = 80;
      const diagonal = Array.from({ length: n }, (_, at) => (at + 1) ** 2);
      const matrix = diagonal.map((one, i) =>
        diagonal.map((_, j) => (i === j ? one : 0.1 / (1 + Math.abs(i - j)))),
      );
      const { of, calls } = counted(await float64(matrix, device));
      const a = denseOperator(await float64(matrix, device));
      using preconditioner = await jacobi(a);
      const x0 = await startOf(n, 3);
      const plain = await lobpcg(a, x0, { which: 'smallest' });
      const found = await lobpcg(of, x0, { which: 'smallest', preconditioner });
      const { values } = await eigh(await tensor(matrix, { device: 'cpu', dtype: 'float64' }));
      const expected = (await numbers(values)).slice(0, 3);
      expect(difference([await numbers(found.values)], [expected])).toBeLessThan(1e-9);
      expect(found.converged).toBe(true);
      expect(3 * found.iterations).toBeLessThan(plain.iterations);
      // one at the start, one an iteration and one for the residuals
      expect(calls()).toBe(found.iterations + 2);
    });

    it('from vectors that depend on each other, and from those that are found', async () => {
      const [first] = transposed(await nested(await startOf(SIDE * SIDE, 1)));
      const same = (first as number[]).map((one) => [one, one, 0]);
      const found = await lobpcg(grid, await float64(same, device));
      await expectPairs(found, gridValues.toReversed().slice(0, 3), ofGrid);
      const again = await lobpcg(grid, found.vectors);
      expect(again.converged).toBe(true);
      // the norm of the operator is known less well at the start
      expect(again.iterations).toBeLessThan(3);
    });

    it('stores and factors where there are fewer than 5 k rows', async () => {
      const matrix = gaussian(pointsOf(9));
      const { of, calls } = counted(await float64(matrix, device));
      const found = await lobpcg(of, await startOf(9, 2));
      const { values } = await eigh(await tensor(matrix, { device: 'cpu', dtype: 'float64' }));
      await expectPairs(found, (await numbers(values)).toReversed().slice(0, 2), (v) => times(matrix, v)); // prettier-ignore
      expect([found.iterations, calls()]).toEqual([0, 2]);
    });

    it('gives the best of its iterates, and says that it has not converged', async () => {
      const seen: number[] = [];
      const onIteration = ({ residual }: { readonly residual: number }): void =>
        void seen.push(residual);
      const options = { which: 'smallest', maxIterations: 12, onIteration } as const;
      const found = await lobpcg(grid, await startOf(SIDE * SIDE, 4), options);
      expect([found.converged, found.iterations, seen.length]).toEqual([false, 12, 13]);
      const worst = Math.max(...found.residuals);
      expect(worst).toBeLessThanOrEqual(1.001 * Math.min(...seen));
    });

    it('keeps no memory, also where it is aborted', async () => {
      const x0 = await startOf(SIDE * SIDE, 3);
      const call = async (): Promise<void> => {
        const found = await lobpcg(grid, x0);
        found.values.dispose();
        found.vectors.dispose();
        const controller = new AbortController();
        const onIteration = ({ iterations }: { readonly iterations: number }): void => {
          if (iterations === 3) controller.abort(new Error('enough'));
        };
        const options = { onIteration, signal: controller.signal };
        await expect(lobpcg(grid, x0, options)).rejects.toThrow('enough');
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });

  describe(`operators that no eigensolver takes, on ${name}`, () => {
    const n = 70;
    const calls: Readonly<Record<string, (a: LinearOperator<'float64'>) => Promise<unknown>>> = {
      eigsh: (a) => eigsh(a, { k: 2, key }),
      'eigsh of a small matrix': (a) => eigsh(a, { k: 30, key }),
      lobpcg: async (a) => lobpcg(a, await float64(matrixOf(n, 2), device)),
      lanczos: (a) => lanczos(a, { key, steps: 10 }),
    };

    it.each(Object.entries(calls))('%s refuses one that is not symmetric', async (_, call) => {
      const a = denseOperator(await float64(matrixOf(n, n), device));
      await expect(call(a)).rejects.toMatchObject({ code: 'ASYMMETRIC' });
      const skew = a.add(a.t().scale(-1));
      await expect(call(skew)).rejects.toMatchObject({ code: 'ASYMMETRIC' });
      // what rounding makes of a symmetric one is taken
      const nearly = a.add(a.t()).add(a.scale(1e-9));
      await call(nearly);
    });

    it.each(Object.entries(calls))('%s refuses NaN', async (_, call) => {
      const matrix = identity(n);
      (matrix[5] as number[])[5] = NaN;
      const a = denseOperator(await float64(matrix, device));
      await expect(call(a)).rejects.toMatchObject({ code: 'NOT_FINITE' });
    });
  });
}
