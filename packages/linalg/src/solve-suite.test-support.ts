import type { Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { EPSILON, type LinalgDType } from './checks.js';
import { NotFiniteError, NotPositiveDefiniteError, SingularMatrixError } from './errors.js';
import {
  at,
  dense,
  definite,
  DTYPES,
  emptyTensor,
  factorsError,
  flip,
  general,
  minus,
  norm1,
  onlyMatrix,
  randomMatrix,
  rounded,
  scaledResidual,
  THRESHOLD,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import type { Solution, SolveOptions } from './solve.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';

type Solve = <D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options?: SolveOptions<NoInfer<D>>,
) => Promise<Solution<D>>;

interface Subject {
  readonly name: string;
  readonly solve: Solve;
  readonly make: (n: number, seed: number, condition?: number) => Dense;
  /** A matrix without a solution, and the info that says so. */
  readonly bad: Dense;
  readonly info: number;
  readonly error: unknown;
}

const indefinite = dense(3, 3, (i, j) => (i === j ? (i === 1 ? -1 : 2) : 0));
const singular = dense(3, 3, (i, j) => (i === 2 || j === 2 ? 0 : i + 2 * j + 1));

const SUBJECTS: readonly Subject[] = [
  {
    name: 'solveCholesky',
    solve: solveCholesky,
    make: definite,
    bad: indefinite,
    info: 2,
    error: NotPositiveDefiniteError,
  },
  {
    name: 'solveLU',
    solve: solveLU,
    make: general,
    bad: singular,
    info: 3,
    error: SingularMatrixError,
  },
];

/** Solves with factorisations, held against residuals in float64. */
export function solveSuite(where: string, orders: readonly number[]): void {
  describe.each(SUBJECTS)(`$name, ${where}`, ({ solve, make, bad, info, error }) => {
    it('solves to the residual that LAPACK accepts, for every order, dtype and condition', async () => {
      for (const dtype of DTYPES) {
        for (const n of orders) {
          for (const condition of [10, 1e6]) {
            const a = rounded(make(n, n, condition), dtype);
            const b = rounded(randomMatrix(n, 3, n + 1), dtype);
            const { x, infos } = await solve(await toTensor(a, dtype), await toTensor(b, dtype));
            expect(x.shape).toEqual([n, 3]);
            expect(await infos.toNested()).toBe(0);
            const residual = scaledResidual(a, await onlyMatrix(x), b, dtype);
            expect(residual, `${dtype} n=${n} k=${condition}`).toBeLessThan(THRESHOLD);
          }
        }
      }
    });

    it('reaches the residual of float64 from a float32 factor by refinement', async () => {
      const n = Math.max(...orders);
      for (const dtype of DTYPES) {
        const a = rounded(make(n, 31, 1e4), dtype);
        const b = rounded(randomMatrix(n, 3, 32), dtype);
        const args = [await toTensor(a, dtype), await toTensor(b, dtype)] as const;
        const { x, infos } = await solve(...args, { refine: 6 });
        expect(await infos.toNested()).toBe(0);
        const residual = scaledResidual(a, await onlyMatrix(x), b, dtype);
        expect(residual).toBeLessThan(THRESHOLD);
        const { x: truth } = await solve(
          await toTensor(a, 'float64'),
          await toTensor(b, 'float64'),
        );
        const off = norm1(minus(await onlyMatrix(x), await onlyMatrix(truth)));
        expect(off / norm1(await onlyMatrix(truth))).toBeLessThan(1e5 * EPSILON[dtype]);
      }
      const pair = await toTensor([bad, make(3, 1)], 'float64');
      const refined = await solve(pair, pair, { refine: 1 });
      expect(await refined.infos.toNested()).toEqual([info, 0]);
    });

    it('takes right-hand sides in rows', async () => {
      const a = make(5, 3);
      const b = randomMatrix(5, 2, 4);
      const args = [await toTensor(a, 'float64'), await toTensor(flip(b), 'float64')] as const;
      const { x } = await solve(...args, { rightHandSides: 'rows' });
      expect(x.shape).toEqual([2, 5]);
      expect(scaledResidual(a, flip(await onlyMatrix(x)), b, 'float64')).toBeLessThan(THRESHOLD);
    });

    it('broadcasts the batch axes of both', async () => {
      const as = [make(4, 1), make(4, 2)];
      const bs = [randomMatrix(4, 2, 3), randomMatrix(4, 2, 4), randomMatrix(4, 2, 5)];
      const a = (await toTensor(as, 'float64')).reshape([2, 1, 4, 4]);
      const { x, infos } = await solve(a, await toTensor(bs, 'float64'));
      expect(x.shape).toEqual([2, 3, 4, 2]);
      expect(infos.shape).toEqual([2, 3]);
      const solutions = await toDense(x);
      solutions.forEach((one, i) => {
        const residual = scaledResidual(as[Math.floor(i / 3)]!, one, bs[i % 3]!, 'float64');
        expect(residual).toBeLessThan(THRESHOLD);
      });
      expect(solutions).toHaveLength(6);
    });

    it('reads any strides', async () => {
      const a = make(6, 8);
      const b = randomMatrix(6, 2, 9);
      const wide = dense(12, 4, (i, j) => (i % 2 === 0 && j < 2 ? b.data[(i / 2) * 2 + j]! : NaN));
      const columns = (await toTensor(flip(a), 'float64')).transpose();
      const sliced = (await toTensor(wide, 'float64')).slice([0, 12, 2], [0, 2]);
      const { x } = await solve(columns, sliced);
      expect(scaledResidual(a, await onlyMatrix(x), b, 'float64')).toBeLessThan(THRESHOLD);
    });

    it('writes into out, into b, and leaves the factor in a, as it is told', async () => {
      const a = make(4, 11);
      const b = randomMatrix(4, 1, 12);
      const given = await toTensor([a, a], 'float64');
      const sides = await toTensor([b, b], 'float64');
      const out = emptyTensor([2, 4, 1], 'float64');
      expect((await solve(given, sides, { out })).x).toBe(out);
      expect(await toDense(given)).toEqual([a, a]);
      const { x } = await solve(given, sides, { overwriteA: true, overwriteB: true });
      expect(x.storage).toBe(sides.storage);
      expect(await x.toNested()).toEqual(await out.toNested());
      expect(await toDense(given)).not.toEqual([a, a]);
    });

    it('tells of a matrix without a solution in its info alone; the others of the batch are solved', async () => {
      const good = make(3, 13);
      const b = randomMatrix(3, 1, 14);
      const args = [
        await toTensor([good, bad, good], 'float32'),
        await toTensor([b, b, b], 'float32'),
      ] as const;
      const { x, infos } = await solve(...args);
      expect(await infos.toNested()).toEqual([0, info, 0]);
      const [first, second, third] = await toDense(x);
      expect([...second!.data].every(Number.isNaN)).toBe(true);
      expect(third).toEqual(first);
      const thrown: unknown = await solve(...args, { checkErrors: true }).catch((e: unknown) => e);
      expect(thrown).toBeInstanceOf(error);
      const position = info === 2 ? { leadingMinor: 2 } : { pivot: 3 };
      expect(thrown).toMatchObject({ batch: [1], ...position });
      expect((thrown as Error).message).toContain('batch entry [1]');
    });

    it.each([NaN, Infinity, -Infinity])('says that a matrix holds %s', async (value) => {
      const a = dense(3, 3, (i, j) => (i === 2 && j === 1 ? value : i === j ? 2 : 0));
      const b = await toTensor(randomMatrix(3, 1, 1), 'float64');
      const { x, infos } = await solve(await toTensor(a, 'float64'), b);
      expect(await infos.toNested()).toBe(-1);
      expect((await onlyMatrix(x)).data.every(Number.isNaN)).toBe(true);
      await expect(solve(await toTensor(a, 'float64'), b, { checkErrors: true })).rejects.toThrow(
        NotFiniteError,
      );
    });

    it('carries NaN of a right-hand side to its solution only', async () => {
      const b = dense(3, 2, (_, j) => (j === 0 ? NaN : 1));
      const { x } = await solve(
        await toTensor(make(3, 2), 'float64'),
        await toTensor(b, 'float64'),
      );
      const { data } = await onlyMatrix(x);
      expect([...data].map(Number.isNaN)).toEqual([true, false, true, false, true, false]);
    });

    it('has nothing to do for empty batches', async () => {
      const a = emptyTensor([0, 3, 3], 'float64');
      const b = emptyTensor([0, 3, 2], 'float64');
      const { x, infos } = await solve(a, b);
      expect(x.shape).toEqual([0, 3, 2]);
      expect(infos.shape).toEqual([0]);
      await expect(x.toTypedArray()).resolves.toHaveLength(0);
    });
  });

  describe(`solveLU's factors, ${where}`, () => {
    const n = Math.max(...orders);
    const a = general(n, 41);
    const b = randomMatrix(n, 2, 42);

    it.each(DTYPES)(
      'solve matrices of %s that lie in rows or in columns, kept or not',
      async (dtype) => {
        const truth = rounded(a, dtype);
        const sides = rounded(b, dtype);
        for (const kept of [false, true]) {
          using rows = await toTensor(a, dtype);
          using turned = await toTensor(flip(a), dtype);
          using columns = turned.transpose();
          for (const given of [rows, columns]) {
            using right = await toTensor(b, dtype);
            const { x, infos } = await solveLU(given, right, { overwriteA: kept });
            expect(await infos.toNested()).toBe(0);
            const residual = scaledResidual(truth, await onlyMatrix(x), sides, dtype);
            expect(residual).toBeLessThan(THRESHOLD);
          }
          for (const given of [rows, columns]) {
            const left = await onlyMatrix(given);
            if (kept) expect(factorsError(truth, left, dtype)).toBeLessThan(THRESHOLD);
            else expect(left).toEqual(truth);
          }
        }
      },
    );

    it.each(DTYPES)('of %s find a row or a column of zeros', async (dtype) => {
      const without = (row: number, column: number): Dense =>
        dense(n, n, (i, j) => (i === row || j === column ? 0 : at(a, i, j)));
      const [row, column] = [Math.floor(n / 3), Math.floor(n / 2)];
      using bad = await toTensor([without(row, -1), a, without(-1, column)], dtype);
      const { x, infos } = await solveLU(bad, await toTensor([b, b, b], dtype));
      const [first = 0, middle, last = 0] = await infos.toTypedArray();
      expect(middle).toBe(0);
      // The pivot of the row or column itself, or the last one, by whether the matrix or its transpose was factored.
      expect([row + 1, n]).toContain(first);
      expect([column + 1, n]).toContain(last);
      const [none, solved, neither] = await toDense(x);
      expect([...none!.data, ...neither!.data].every(Number.isNaN)).toBe(true);
      const right = rounded(b, dtype);
      expect(scaledResidual(rounded(a, dtype), solved!, right, dtype)).toBeLessThan(THRESHOLD);
      await expect(solveLU(bad, await toTensor(b, dtype), { checkErrors: true })).rejects.toThrow(
        SingularMatrixError,
      );
    });
  });

  describe(`solveCholesky's triangle, ${where}`, () => {
    it.each(['lower', 'upper'] as const)('reads %s only, and factors it in place', async (uplo) => {
      const a = definite(5, 21);
      const inside = (i: number, j: number): boolean => (uplo === 'lower' ? i >= j : i <= j);
      const half = dense(5, 5, (i, j) => (inside(i, j) ? a.data[i * 5 + j]! : NaN));
      const b = randomMatrix(5, 2, 22);
      const given = await toTensor(half, 'float64');
      const { x } = await solveCholesky(given, await toTensor(b, 'float64'), {
        uplo,
        overwriteA: true,
      });
      expect(scaledResidual(a, await onlyMatrix(x), b, 'float64')).toBeLessThan(THRESHOLD);
      const { data } = await onlyMatrix(given);
      data.forEach((value, k) => {
        expect(value === 0).toBe(!inside(Math.floor(k / 5), k % 5));
      });
    });
  });
}
