import { checkGradients, grad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cg, denseOperator, operator, pivotedCholesky, type LinearOperator } from '../index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  norms,
  pointsOf,
  residualNorms,
  solved,
  times,
  type Matrix,
} from './systems.test-support.js';

const N = 60;
const K = 8;
const SHIFT = 1e-3;
const BLOCK = { block: true } as const;
/** Numbers of which no row or column is a sum of others. */
const independent = (i: number, j: number): number => Math.sin(1 + i * i + 3 * i * j * j + j);

const points = pointsOf(N);
const matrix = gaussian(points, SHIFT);
const rightHandSides = points.map((_, i) =>
  Array.from({ length: K }, (__, j) => independent(i, j)),
);

/** Block conjugate gradients against elimination, true residuals by plain loops, and the method of columns. */
export function blockCgSuite(name: string, place: () => Device): void {
  describe(`cg of blocks on ${name}`, () => {
    let device: Device;
    let kernel: LinearOperator<'float64'>;
    let dense: LinearOperator<'float64'>;
    let b: Tensor<'float64'>;
    beforeAll(async () => {
      device = place();
      const x = await float64(points, device);
      kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
      dense = denseOperator(await float64(matrix, device));
      b = await float64(rightHandSides, device);
    });

    /** The solution by elimination, and true residuals, which the report must have. */
    const expectSolved = async (
      found: Awaited<ReturnType<typeof cg>>,
      right: Matrix,
      { of = matrix, rtol = 1e-9, error = 1e-6 } = {},
    ): Promise<void> => {
      const x = await nested(found.x);
      expect(found.converged).toBe(true);
      expect(difference(x, solved(of, right))).toBeLessThan(error);
      const scales = norms(right);
      for (const [k, norm] of residualNorms(of, x, right).entries()) {
        const truth = scales[k] === 0 ? norm : norm / (scales[k] as number);
        expect(truth).toBeLessThanOrEqual(1.01 * rtol);
        expect(Math.abs((found.columns[k]?.residual ?? NaN) - truth)).toBeLessThan(1e-12);
      }
    };

    it('solves every column in fewer iterations than columns need alone', async () => {
      const system = kernel.shift(SHIFT);
      const found = await cg(system, b, { ...BLOCK, rtol: 1e-9 });
      await expectSolved(found, rightHandSides);
      const alone = await cg(system, b, { rtol: 1e-9 });
      expect(alone.converged).toBe(true);
      expect(found.iterations).toBeLessThan(0.6 * alone.iterations);
      expect(found.iterations).toBeGreaterThan(2);
    });

    it('spans a space of all unknowns in as many steps as blocks of it', async () => {
      // 10 columns of 20 unknowns, all eigenvalues apart
      const a = Array.from({ length: 20 }, (_, i) =>
        Array.from({ length: 20 }, (__, j) => (i === j ? i + 1 : 0)),
      );
      const right = a.map((_, i) => Array.from({ length: 10 }, (__, j) => independent(i, j)));
      const found = await cg(
        denseOperator(await float64(a, device)),
        await float64(right, device),
        {
          ...BLOCK,
          rtol: 1e-9,
        },
      );
      await expectSolved(found, right, { of: a });
      expect(found.iterations).toBe(2);
      // four of them span the others
      const fewer = right.map((row) =>
        row.map((_, j) =>
          row.slice(0, 4).reduce((sum, one, k) => sum + one * independent(k, j), 0),
        ),
      );
      const again = await cg(
        denseOperator(await float64(a, device)),
        await float64(fewer, device),
        {
          ...BLOCK,
          rtol: 1e-9,
        },
      );
      await expectSolved(again, fewer, { of: a });
      expect(again.iterations).toBe(5);
    });

    const dependent: Readonly<Record<string, (row: readonly number[], i: number) => number[]>> = {
      'the same twice': ([one = 0, two = 0]) => [one, two, one],
      multiples: ([one = 0]) => [one, -1e6 * one, 1e-6 * one],
      'a sum of others': ([one = 0, two = 0]) => [one, two, one + two],
      'the same but for 1e-9': ([one = 0, two = 0]) => [one, one + 1e-9 * two, two],
      'all zeros among others': ([one = 0, two = 0]) => [one, 0, two],
    };
    it.each(Object.entries(dependent))('right-hand sides may be %s', async (_, of) => {
      const right = rightHandSides.map(of);
      const found = await cg(dense, await float64(right, device), { ...BLOCK, rtol: 1e-9 });
      const x = await nested(found.x);
      expect(found.converged).toBe(true);
      const scales = norms(right);
      for (const [k, norm] of residualNorms(matrix, x, right).entries())
        expect(norm).toBeLessThanOrEqual(1.01e-9 * (scales[k] as number));
    });

    it('columns may be more than unknowns', async () => {
      const a = gaussian(pointsOf(3), 0.1);
      const right = matrixOf(3, 7);
      const found = await cg(
        denseOperator(await float64(a, device)),
        await float64(right, device),
        {
          ...BLOCK,
          rtol: 1e-10,
        },
      );
      await expectSolved(found, right, { of: a, rtol: 1e-10 });
    });

    it('one column, and none, are blocks too', async () => {
      const one = await cg(dense, b.slice(null, 1), { ...BLOCK, rtol: 1e-9 });
      expect(one.x.shape).toEqual([N]);
      const column = (await nested(await b.clone())).map((row) => [row[1] as number]);
      const x = (await one.x.toNested<number[]>()).map((value) => [value]);
      expect(difference(x, solved(matrix, column))).toBeLessThan(1e-6);
      const none = await cg(dense, b.slice(null, [0, 0]), BLOCK);
      expect([none.x.shape, none.converged, none.columns]).toEqual([[N, 0], true, []]);
    });

    it('a column that is done does not move while others go on', async () => {
      const ones = matrix.map(() => [1]);
      const easy = times(matrix, ones).map(([one = 0]) => one);
      const right = easy.map((one, i) => [one, rightHandSides[i]?.[0] ?? 0]);
      const x0 = await float64(
        right.map(() => [1, 0]),
        device,
      );
      const { columns, x } = await cg(dense, await float64(right, device), {
        ...BLOCK,
        x0,
        rtol: 1e-10,
      });
      expect(columns[0]?.iterations).toBe(0);
      expect(columns[1]?.iterations).toBeGreaterThan(5);
      expect((await nested(x)).map((row) => row[0])).toEqual(Array(N).fill(1));

      // a residual that is small enough, and not 0, leads no further either
      const near = right.map(([one = 0, other = 0], i) => [one * (1 + 1e-3 * Math.sin(i)), other]);
      const b0 = await float64(near, device);
      const options = { ...BLOCK, x0, rtol: 1e-5 };
      const whole = await cg(dense, b0, options);
      const [first, second] = whole.columns.map(({ iterations }) => iterations);
      expect(second).toBeGreaterThan((first ?? NaN) + 1);
      const part = await cg(dense, b0, { ...options, maxIterations: first });
      const column = async ({ x: all }: { x: Tensor }): Promise<unknown> =>
        (await nested(all as Tensor<'float64'>)).map((row) => row[0]);
      expect(await column(whole)).toEqual(await column(part));
    });

    it('float32 is done at 1e-4 by the true residual', async () => {
      const single = await tensor(gaussian(points, 0.05), { device, dtype: 'float32' });
      const right = await tensor(rightHandSides, { device, dtype: 'float32' });
      const { x, converged, residual } = await cg(denseOperator(single), right, BLOCK);
      expect([x.dtype, converged]).toEqual(['float32', true]);
      const truth = residualNorms(gaussian(points, 0.05), await nested(x), rightHandSides);
      for (const [k, norm] of truth.entries())
        expect(norm / (norms(rightHandSides)[k] as number)).toBeLessThan(1.02e-4);
      expect(residual).toBeLessThanOrEqual(1e-4);
    });

    it('a preconditioner makes it shorter', async () => {
      using preconditioner = await pivotedCholesky(kernel, { rank: 10, shift: SHIFT });
      const system = kernel.shift(SHIFT);
      const plain = await cg(system, b, { ...BLOCK, rtol: 1e-9 });
      const found = await cg(system, b, { ...BLOCK, rtol: 1e-9, preconditioner });
      await expectSolved(found, rightHandSides);
      expect(found.iterations).toBeLessThan(plain.iterations);
    });

    it('has no more than maxIterations, and says that it has not converged', async () => {
      for (const maxIterations of [0, 1, 4]) {
        const found = await cg(dense, b, { ...BLOCK, rtol: 1e-14, maxIterations });
        expect(found.converged).toBe(false);
        expect(found.columns.map((one) => one.iterations)).toEqual(Array(K).fill(maxIterations));
        const truth = residualNorms(matrix, await nested(found.x), rightHandSides);
        const scales = norms(rightHandSides);
        for (const [k, norm] of truth.entries())
          expect(found.columns[k]?.residual).toBeCloseTo(norm / (scales[k] as number), 10);
      }
    });

    it('a tolerance out of reach ends by stagnation, long before maxIterations', async () => {
      const found = await cg(dense, b, { ...BLOCK, rtol: 1e-30, maxIterations: 100_000 });
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(1000);
      expect(found.residual).toBeLessThan(1e-11);
    });

    it('an indefinite operator throws, with the least energy', async () => {
      const indefinite = denseOperator(
        await float64(
          [
            [1, 0, 0],
            [0, -2, 0],
            [0, 0, 3],
          ],
          device,
        ),
      );
      const right = await float64(
        [
          [1, 0],
          [0, 3],
          [0, 0],
        ],
        device,
      );
      await expect(cg(indefinite, right, BLOCK)).rejects.toMatchObject({
        name: 'SolverError',
        code: 'INDEFINITE',
        message: expect.stringMatching(
          /^cg: p \. A p is -2(\.0+\d+)? of column 0 at iteration 1/,
        ) as string,
      });
    });

    it('a preconditioner that is not positive, and NaN, throw', async () => {
      const preconditioner = (r: Tensor): Promise<Tensor> => r.neg();
      await expect(cg(dense, b, { ...BLOCK, preconditioner })).rejects.toMatchObject({
        code: 'BAD_PRECONDITIONER',
      });
      const broken = operator({
        shape: [N, N],
        dtype: 'float64',
        device,
        matvec: (v) => v.mul(NaN),
      });
      await expect(cg(broken, b, BLOCK)).rejects.toMatchObject({ code: 'NOT_FINITE' });
    });

    it('x has the derivatives that the system says', async () => {
      const [x, right] = [
        await float64(pointsOf(6), device),
        await float64(matrixOf(6, 3), device),
      ];
      const energy = async (at: Tensor<'float64'>, of: Tensor<'float64'>) => {
        const system = lazyI(at).sqdist(lazyJ(at)).neg().exp().asOperator().shift(0.1);
        const { x: found } = await cg(system, of, { ...BLOCK, rtol: 1e-12 });
        return found.mul(of).sum();
      };
      await checkGradients(energy, [x, right], { key: random.key(1), tolerance: 1e-5 });
      // sum(b . A^-1 b) has the derivative 2 A^-1 b
      const found = await grad(energy, { argnums: 1 })(x, right);
      const expected = solved(gaussian(pointsOf(6), 0.1), matrixOf(6, 3)).map((row) =>
        row.map((one) => 2 * one),
      );
      expect(difference(await nested(found as Tensor), expected)).toBeLessThan(1e-8);
    });

    it('keeps no memory beside x', async () => {
      const call = async (): Promise<void> => {
        const { x } = await cg(dense, b, { ...BLOCK, rtol: 1e-9 });
        x.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
