import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  denseOperator,
  gmres,
  lsmr,
  lsqr,
  minres,
  operator,
  type IterativeOptions,
  type IterativeSolution,
  type LinearOperator,
} from '../index.js';
import {
  difference,
  float64,
  leastSquaresOf,
  matrixOf,
  nested,
  norms,
  residualNorms,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

type Numbers = Tensor<'float64'>;
type Solve = <D extends 'float32' | 'float64'>(
  a: LinearOperator<D>,
  b: Tensor<D>,
  options?: IterativeOptions<D>,
) => Promise<IterativeSolution<D>>;

const N = 30;

/** A matrix of low rank beside a diagonal. */
const withDiagonal = (a: Matrix, diagonal: (i: number) => number): number[][] =>
  a.map((row, i) => row.map((one, j) => one + (i === j ? diagonal(i) : 0)));

const plain = withDiagonal(matrixOf(N, N), (i) => 2 + (i % 5));
const low = matrixOf(N, N, 2);
const indefinite = withDiagonal(
  low.map((row, i) => row.map((one, j) => one + (low[j]?.[i] as number))),
  (i) => (i % 3 === 0 ? -1 : 1) * (3 + (i % 4)),
);
export const tall = withDiagonal(matrixOf(N + 15, N, 3), (i) => 2 + (i % 5));
const wide = transposed(tall);

/** Methods with a matrix that they solve, and the iterations that are enough for nothing. */
const METHODS: readonly (readonly [name: string, solve: Solve, matrix: Matrix])[] = [
  ['minres', minres, indefinite],
  ['gmres', gmres, plain],
  ['gmres in cycles of 4', (a, b, o) => gmres(a, b, { ...o, restart: 4 }), plain],
  ['lsqr', lsqr, tall],
  ['lsmr', lsmr, tall],
  ['lsqr of more unknowns than equations', lsqr, wide],
  ['lsmr of more unknowns than equations', lsmr, wide],
  ['lsqr of a square matrix', lsqr, plain],
  ['lsmr of a square matrix', lsmr, plain],
];

/** Right-hand sides in the range. */
const rightOf = (a: Matrix): number[][] => times(a, matrixOf(a[0]?.length ?? 0, 3, 7));

/** What all methods do alike, by plain loops. */
export function methodsSuite(name: string, place: () => Device): void {
  describe.each(METHODS)(`%s on ${name}`, (_, solve, matrix) => {
    const right = rightOf(matrix);
    const unknowns = matrix[0]?.length ?? 0;
    let device: Device;
    let dense: LinearOperator<'float64'>;
    let b: Numbers;
    beforeAll(async () => {
      device = place();
      dense = denseOperator(await float64(matrix, device));
      b = await float64(right, device);
    });

    it('solves every column, and says its true residual', async () => {
      const found = await solve(dense, b, { rtol: 1e-9 });
      const x = await nested(found.x);
      expect(difference(x, leastSquaresOf(matrix, right))).toBeLessThan(1e-7);
      for (const [k, norm] of residualNorms(matrix, x, right).entries()) {
        const { converged, iterations, residual } = found.columns[k] as (typeof found.columns)[0];
        expect(converged).toBe(true);
        expect(Math.abs(residual - norm / (norms(right)[k] as number))).toBeLessThan(1e-13);
        expect(residual).toBeLessThanOrEqual(1e-9);
        expect(iterations).toBeGreaterThan(5);
      }
      expect(found.converged).toBe(true);
      expect(found.iterations).toBe(Math.max(...found.columns.map((one) => one.iterations)));
      expect(found.residual).toBe(Math.max(...found.columns.map((one) => one.residual)));
    });

    it('one right-hand side is a vector', async () => {
      const alone = await solve(dense, b.slice(null, 1), { rtol: 1e-9 });
      expect(alone.x.shape).toEqual([unknowns]);
      const expected = leastSquaresOf(matrix, right).map((row) => row[1] as number);
      expect(difference([await alone.x.toNested<number[]>()], [expected])).toBeLessThan(1e-7);
    });

    it('float32 is done at 1e-4 by the true residual', async () => {
      const single = denseOperator(await tensor(matrix, { device, dtype: 'float32' }));
      const { x, converged, residual } = await solve(
        single,
        await tensor(right, { device, dtype: 'float32' }),
      );
      expect([x.dtype, converged]).toEqual(['float32', true]);
      for (const [k, norm] of residualNorms(matrix, await nested(x), right).entries())
        expect(norm / (norms(right)[k] as number)).toBeLessThan(1.01e-4);
      expect(residual).toBeLessThanOrEqual(1e-4);
    });

    it('a column that is done does not move while others go on', async () => {
      const first = right.map(([one = 0]) => one);
      const beside = async (factor: number): Promise<IterativeSolution<'float64'>> => {
        const both = right.map((row, i) => [first[i] as number, factor * (row[1] as number)]);
        return solve(dense, await float64(both, device), { rtol: 0, atol: 1e-3 });
      };
      const [among, alone] = [await beside(1e6), await beside(1e-3)];
      expect(among.columns[0]).toEqual(alone.columns[0]);
      expect(among.iterations).toBeGreaterThan((alone.columns[0]?.iterations ?? Infinity) + 2);
      const columnOf = async (x: Tensor): Promise<(number | undefined)[]> =>
        (await nested(x)).map((row) => row[0]);
      expect(await columnOf(among.x)).toEqual(await columnOf(alone.x));
    });

    it('a right-hand side of zeros has the solution 0, whatever x0 is', async () => {
      const zeros = right.map(([one = 0]) => [one, 0]);
      const x0 = await float64(matrixOf(unknowns, 2, 9), device);
      const found = await solve(dense, await float64(zeros, device), { x0, rtol: 1e-9 });
      expect(found.columns[1]).toMatchObject({ converged: true, iterations: 0, residual: 0 });
      expect((await nested(found.x)).map((row) => row[1])).toEqual(Array(unknowns).fill(0));
      const [first = 1] = residualNorms(matrix, await nested(found.x), zeros);
      expect(first / (norms(zeros)[0] as number)).toBeLessThan(1e-9);
    });

    it('begins at x0', async () => {
      const x0 = await float64(leastSquaresOf(matrix, right), device);
      const { iterations, converged } = await solve(dense, b, { x0 });
      expect([iterations, converged]).toEqual([0, true]);
      // near it there is less to do, and what is found is as good
      const near = await float64(
        leastSquaresOf(matrix, right).map((row) => row.map((one) => one + 1e-4)),
        device,
      );
      const found = await solve(dense, b, { x0: near });
      expect(found.converged).toBe(true);
      expect(found.iterations).toBeLessThan((await solve(dense, b)).iterations);
    });

    it('has no more than maxIterations, and says that it has not converged', async () => {
      for (const maxIterations of [0, 1, 7]) {
        const found = await solve(dense, b, { rtol: 1e-14, maxIterations });
        expect(found.converged).toBe(false);
        expect(found.columns.map((one) => one.iterations)).toEqual(Array(3).fill(maxIterations));
        for (const [k, norm] of residualNorms(matrix, await nested(found.x), right).entries())
          expect(found.columns[k]?.residual).toBeCloseTo(norm / (norms(right)[k] as number), 12);
      }
    });

    it('a tolerance out of reach ends by stagnation, long before maxIterations', async () => {
      const found = await solve(dense, b, { rtol: 1e-30, maxIterations: 100_000 });
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(1000);
      expect(found.residual).toBeLessThan(1e-13);
      expect(difference(await nested(found.x), leastSquaresOf(matrix, right))).toBeLessThan(1e-12);
    });

    it('NaN of the right-hand side and of the operator throws', async () => {
      const bad = right.with(2, [0, NaN, 0]);
      await expect(solve(dense, await float64(bad, device))).rejects.toMatchObject({
        name: 'SolverError',
        code: 'NOT_FINITE',
        message: expect.stringMatching(/right-hand side.*column 1/) as string,
      });
      const broken = matrix.with(1, (matrix[1] as number[]).with(2, NaN));
      await expect(solve(denseOperator(await float64(broken, device)), b)).rejects.toMatchObject({
        code: 'NOT_FINITE',
      });
    });

    /** The operator, whose product of some number throws. */
    const failing = (at: number): LinearOperator<'float64'> => {
      let calls = 0;
      const counted = (product: () => Promise<Numbers>): Promise<Numbers> => {
        if (++calls === at) throw new RangeError('no more');
        return product();
      };
      return operator({
        shape: dense.shape,
        dtype: 'float64',
        device,
        matvec: (v) => counted(() => dense.matvec(v)),
        rmatvec: (v) => counted(() => dense.rmatvec(v)),
      });
    };

    it('gives what the operator throws, in whichever product, and keeps no memory', async () => {
      const x0 = await float64(matrixOf(unknowns, 3, 9), device);
      const call = async (): Promise<void> => {
        for (const at of [1, 2, 3, 4, 5, 6])
          await expect(solve(failing(at), b, { x0 })).rejects.toThrow('no more');
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });

    it('stops when it is aborted in mid-solve, tells its progress, and keeps no memory beside x', async () => {
      const call = async (): Promise<void> => {
        const controller = new AbortController();
        const seen: number[] = [];
        const onIteration = ({ residual }: { readonly residual: number }): void => {
          seen.push(residual);
          if (seen.length === 2) controller.abort(new Error('enough'));
        };
        const options = { rtol: 1e-14, signal: controller.signal, onIteration };
        await expect(solve(dense, b, options)).rejects.toThrow('enough');
        expect(seen).toHaveLength(2);
        expect(seen[0]).toBe(1);
        const { x } = await solve(dense, b, { rtol: 1e-9 });
        x.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });

  describe(`minres on ${name}`, () => {
    const right = rightOf(indefinite);
    const on = (a: Matrix): Promise<LinearOperator<'float64'>> =>
      float64(a, place()).then(denseOperator);

    it('takes a preconditioner that is positive definite', async () => {
      const scaled = indefinite.map((row, i) =>
        row.map((one, j) => one * 10 ** (((i % 5) + (j % 5)) / 2)),
      );
      const a = await on(scaled);
      const b = await float64(right, place());
      const preconditioner = await on(
        scaled.map((row, i) => row.map((_, j) => (i === j ? 10 ** -(i % 5) : 0))),
      );
      const found = await minres(a, b, { rtol: 1e-10, preconditioner });
      const without = await minres(a, b, { rtol: 1e-10 });
      expect(found.converged).toBe(true);
      expect(found.iterations).toBeLessThan(0.5 * without.iterations);
      expect(difference(await nested(found.x), leastSquaresOf(scaled, right))).toBeLessThan(1e-6);
    });

    it('a preconditioner that is not positive throws', async () => {
      const preconditioner = (r: Tensor): Promise<Tensor> => r.neg();
      await expect(
        minres(await on(indefinite), await float64(right, place()), { preconditioner }),
      ).rejects.toMatchObject({
        code: 'BAD_PRECONDITIONER',
        message: expect.stringContaining('r . P r is -') as string,
      });
      // positive at first
      const half = withDiagonal(matrixOf(N, N).map((row) => row.map(() => 0)), (i) => (i < 15 ? 1 : -1)); // prettier-ignore
      const above = right.map((row, i) => (i < 15 ? row : [0, 0, 0]));
      await expect(
        minres(await on(indefinite), await float64(above, place()), {
          preconditioner: await on(half),
        }),
      ).rejects.toMatchObject({ code: 'BAD_PRECONDITIONER' });
    });

    it('of a singular operator solves what has a solution, and ends without one where there is none', async () => {
      const isOut = (i: number): boolean => i < 3;
      const singular = indefinite.map((row, i) =>
        row.map((one, j) => (isOut(i) || isOut(j) ? 0 : one)),
      );
      const within = right.map((row, i) => (isOut(i) ? row.map(() => 0) : row));
      const good = await minres(await on(singular), await float64(within, place()), {
        rtol: 1e-10,
      });
      expect(good.converged).toBe(true);
      const numbers = { rtol: 1e-10, maxIterations: 100_000 };
      const found = await minres(await on(singular), await float64(right, place()), numbers);
      expect(found.converged).toBe(false);
      expect(found.iterations).toBeLessThan(2000);
      const small = await minres(await on([[1, 0], [0, 0]]), await float64([[1], [1]], place())); // prettier-ignore
      expect(small.columns).toMatchObject([{ converged: false, iterations: 1 }]);
      expect(difference(await nested(small.x), [[1], [1]])).toBeLessThan(1e-12);
    });

    it('of an operator that is not symmetric it does not say what is not so', async () => {
      const b = await float64(rightOf(plain), place());
      const found = await minres(await on(plain), b, { rtol: 1e-10 });
      for (const [k, norm] of residualNorms(
        plain,
        await nested(found.x),
        rightOf(plain),
      ).entries()) {
        const { converged, residual } = found.columns[k] as (typeof found.columns)[0];
        const truth = norm / (norms(rightOf(plain))[k] as number);
        expect(residual).toBeCloseTo(truth, 9);
        expect(converged).toBe(truth <= 1e-10);
        expect(converged).toBe(false);
      }
    });
  });

  describe(`gmres on ${name}`, () => {
    const right = rightOf(plain);
    const on = (a: Matrix): Promise<LinearOperator<'float64'>> =>
      float64(a, place()).then(denseOperator);

    it('takes a preconditioner that is not symmetric, and its residual is the true one', async () => {
      const near = withDiagonal(plain, (i) => 0.01 * i);
      const unit = near.map((row, i) => row.map((_, j) => Number(i === j)));
      const inverse = leastSquaresOf(near, unit);
      const b = await float64(right, place());
      const found = await gmres(await on(plain), b, {
        rtol: 1e-10,
        preconditioner: await on(inverse),
      });
      const without = await gmres(await on(plain), b, { rtol: 1e-10 });
      expect(found.converged).toBe(true);
      expect(found.iterations).toBeLessThan(0.6 * without.iterations);
      expect(difference(await nested(found.x), leastSquaresOf(plain, right))).toBeLessThan(1e-8);
    });

    it('has the least residual of the Krylov space in each iteration', async () => {
      const b = right.map((row) => row.slice(0, 1));
      let space = b;
      let power = b;
      for (const maxIterations of [1, 2, 3, 4]) {
        const { residual } = await gmres(await on(plain), await float64(b, place()), {
          rtol: 1e-14,
          maxIterations,
        });
        const products = times(plain, space);
        const rest = residualNorms(products, leastSquaresOf(products, b), b);
        expect(residual).toBeCloseTo((rest[0] as number) / (norms(b)[0] as number), 9);
        power = times(plain, power);
        const size = norms(power)[0] as number;
        power = power.map((row) => row.map((one) => one / size));
        space = space.map((row, i) => [...row, ...(power[i] as number[])]);
      }
    });

    it('a cycle that never helps stagnates, and a longer one solves', async () => {
      const shifts = plain.map((row, i) => row.map((_, j) => Number(j === (i + 1) % N)));
      const first = await float64(plain.map((_, i) => [Number(i === 0)]), place()); // prettier-ignore
      const short = await gmres(await on(shifts), first, { maxIterations: 10_000 });
      expect(short.converged).toBe(false);
      expect(short.iterations).toBeLessThan(200);
      expect(short.residual).toBe(1);
      const long = await gmres(await on(shifts), first, { restart: N });
      expect([long.converged, long.iterations]).toEqual([true, N]);
    });

    it('an inconsistent singular system ends without a solution', async () => {
      const singular = await on([[1, 0], [0, 0]]); // prettier-ignore
      const b = await float64([[1, 1], [1, 0]], place()); // prettier-ignore
      const found = await gmres(singular, b);
      expect(found.columns).toMatchObject([{ converged: false }, { converged: true }]);
      expect(found.columns[0]?.residual).toBeCloseTo(Math.SQRT1_2, 12);
    });
  });

  describe.each([
    ['lsqr', lsqr],
    ['lsmr', lsmr],
  ] as const)(`%s on ${name}`, (_, solve) => {
    const right = matrixOf(tall.length, 3, 7);
    const on = (a: Matrix): Promise<LinearOperator<'float64'>> =>
      float64(a, place()).then(denseOperator);

    it('of inconsistent systems ends where the residual is orthogonal to the range', async () => {
      const found = await solve(await on(tall), await float64(right, place()), { rtol: 1e-10 });
      expect(found.converged).toBe(true);
      expect(found.residual).toBeGreaterThan(0.1);
      const x = await nested(found.x);
      expect(difference(x, leastSquaresOf(tall, right))).toBeLessThan(1e-8);
      const residual = right.map((row, i) =>
        row.map((one, k) => one - (times(tall, x)[i]?.[k] as number)),
      );
      const across = norms(times(transposed(tall), residual));
      for (const [k, { normal }] of found.columns.entries()) {
        expect(normal).toBeLessThanOrEqual(1e-10);
        // by an estimate of the norm of A that is not above it
        const least = (across[k] as number) / (Math.hypot(...tall.flat()) * (norms(residual)[k] as number)); // prettier-ignore
        expect(normal).toBeGreaterThanOrEqual(0.99 * least);
      }
    });

    it('a right-hand side that is orthogonal to the range has the solution 0', async () => {
      const a = await on([[1, 2], [0, 0], [0, 0]]); // prettier-ignore
      const found = await solve(a, await float64([[0], [3], [0]], place()));
      expect(found.columns).toEqual([{ converged: true, iterations: 0, residual: 1, normal: 0 }]);
      expect(await nested(found.x)).toEqual([[0], [0]]);
    });

    it.each([
      ['tall', tall],
      ['wide', wide],
    ])('damp holds x back, of a %s matrix, by a number and by a tensor', async (__, matrix) => {
      const b = matrixOf(matrix.length, 2, 5);
      const damp = 0.7;
      const below = (matrix[0] ?? []).map((___, i, row) => row.map((____, j) => (i === j ? damp : 0))); // prettier-ignore
      const expected = leastSquaresOf([...matrix, ...below], [...b, ...below.map(() => [0, 0])]);
      for (const given of [damp, await tensor(damp, { device: place(), dtype: 'float64' })]) {
        const { x, converged } = await solve(await on(matrix), await float64(b, place()), {
          rtol: 1e-10,
          damp: given,
        });
        expect(converged).toBe(true);
        expect(difference(await nested(x), expected)).toBeLessThan(1e-8);
      }
    });

    it('of a matrix that has not full rank gives the shortest solution', async () => {
      const a = [[1, 1], [1, 1], [1, 1]]; // prettier-ignore
      const { x, converged } = await solve(await on(a), await float64([[1], [2], [3]], place()));
      expect(converged).toBe(true);
      expect(difference(await nested(x), [[1], [1]])).toBeLessThan(1e-12);
    });
  });
}
