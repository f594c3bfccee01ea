import { describe, expect, it } from 'vitest';
import { EPSILON } from './checks.js';
import { cholesky, type JitterWarning } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { NotFiniteError, NotPositiveDefiniteError, SingularMatrixError } from './errors.js';
import { inv } from './inv.js';
import { logdet } from './logdet.js';
import {
  at,
  definite,
  dense,
  DTYPES,
  flip,
  general,
  geometric,
  identity,
  minus,
  norm1,
  onlyMatrix,
  randomMatrix,
  rounded,
  scaledError,
  scaledResidual,
  symmetricWith,
  THRESHOLD,
  times,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { solveTriangular } from './solve-triangular.js';

const UPLOS = ['lower', 'upper'] as const;
const isIn = (uplo: 'lower' | 'upper', i: number, j: number): boolean =>
  uplo === 'lower' ? i >= j : i <= j;
/** The triangle alone; what must not be read is NaN. */
const half = (a: Dense, uplo: 'lower' | 'upper'): Dense =>
  dense(a.rows, a.columns, (i, j) => (isIn(uplo, i, j) ? at(a, i, j) : NaN));

/** What follows from Cholesky and LU factors. */
export function factorsSuite(where: string, orders: readonly number[]): void {
  describe(`cholesky, ${where}`, () => {
    it('gives the factor in the triangle it reads, for every order, dtype, triangle and condition', async () => {
      for (const dtype of DTYPES) {
        for (const uplo of UPLOS) {
          for (const n of orders) {
            for (const condition of [10, 1e6]) {
              const a = rounded(definite(n, n, condition), dtype);
              const made = await cholesky(await toTensor(half(a, uplo), dtype), { uplo });
              const f = await onlyMatrix(made.factor);
              const product = uplo === 'lower' ? times(f, flip(f)) : times(flip(f), f);
              expect(scaledError(a, product, dtype)).toBeLessThan(THRESHOLD);
              expect(await made.infos.toNested()).toBe(0);
              expect(await made.jitters.toNested()).toBe(0);
              f.data.forEach((value, k) => {
                if (!isIn(uplo, Math.floor(k / n), k % n)) expect(value).toBe(0);
              });
            }
          }
        }
      }
    });

    it('is NaN with the leading minor as info where there is no factor', async () => {
      const good = definite(3, 1);
      const bad = dense(3, 3, (i, j) => (i === j ? 2 - i : 0));
      const a = await toTensor([good, bad], 'float32');
      const { factor, infos } = await cholesky(a);
      expect(await infos.toNested()).toEqual([0, 3]);
      expect((await toDense(factor))[1]!.data.every(Number.isNaN)).toBe(true);
      const thrown: unknown = await cholesky(a, { checkErrors: true }).catch((e: unknown) => e);
      expect(thrown).toBeInstanceOf(NotPositiveDefiniteError);
      expect(thrown).toMatchObject({ batch: [1], leadingMinor: 3, code: 'NOT_POSITIVE_DEFINITE' });
      await expect(
        cholesky(
          await toTensor(
            dense(1, 1, () => NaN),
            'float32',
          ),
          { checkErrors: true },
        ),
      ).rejects.toThrow(NotFiniteError);
    });

    it('adds a growing jitter on request, and tells how much', async () => {
      const deficient = symmetricWith([1, 0.5, 0, 0], 3);
      const shifted = dense(4, 4, (i, j) => at(deficient, i, j) - (i === j ? 1e-12 : 0));
      const hopeless = dense(4, 4, (i, j) => (i === j ? -1 : 0));
      const a = await toTensor([definite(4, 4), shifted, hopeless], 'float64');
      const warnings: JitterWarning[] = [];
      const { factor, jitters, infos } = await cholesky(a, {
        jitter: 'escalate',
        onJitter: (warning) => warnings.push(warning),
      });
      expect(await infos.toNested()).toEqual([0, 0, 1]);
      const [none, some = 0, last] = await jitters.toTypedArray();
      expect(none).toBe(0);
      expect(some).toBeGreaterThan(1e-13);
      expect(some).toBeLessThan(1e-9);
      expect(last).toBeCloseTo(10 * EPSILON.float64 * 1e6, 15);
      const f = (await toDense(factor))[1]!;
      const changed = dense(4, 4, (i, j) => at(shifted, i, j) + (i === j ? some : 0));
      expect(scaledError(changed, times(f, flip(f)), 'float64')).toBeLessThan(THRESHOLD);
      expect(warnings.map(({ entry, jitter }) => [entry, jitter])).toEqual([
        [1, some],
        [2, last],
      ]);
      expect(warnings[0]).toMatchObject({ code: 'JITTER_ADDED' });
    });

    it('works in place and into out', async () => {
      const a = definite(4, 9);
      const given = await toTensor(a, 'float64');
      const out = await toTensor(identity(4), 'float64');
      expect((await cholesky(given, { out })).factor).toBe(out);
      const { factor } = await cholesky(given, { overwriteA: true });
      expect(factor.storage).toBe(given.storage);
      expect(await onlyMatrix(given)).toEqual(await onlyMatrix(out));
      await expect(cholesky(given, { overwriteA: true, out })).rejects.toThrow(/overwriteA/);
    });
  });

  describe(`solveTriangular, ${where}`, () => {
    it('solves with either triangle, transposed or not, with the diagonal or ones', async () => {
      for (const dtype of DTYPES) {
        for (const uplo of UPLOS) {
          for (const transpose of [false, true]) {
            for (const unitDiagonal of [false, true]) {
              const n = 6;
              const random = randomMatrix(n, n, 5);
              const a = rounded(
                dense(n, n, (i, j) => (i === j ? 3 + i : at(random, i, j))),
                dtype,
              );
              const meant = dense(n, n, (i, j) => {
                const [row, column] = transpose ? [j, i] : [i, j];
                if (row === column && unitDiagonal) return 1;
                return isIn(uplo, row, column) ? at(a, row, column) : 0;
              });
              const b = rounded(randomMatrix(n, 2, 6), dtype);
              const args = [
                await toTensor(half(a, uplo), dtype),
                await toTensor(b, dtype),
              ] as const;
              const { x } = await solveTriangular(...args, { uplo, transpose, unitDiagonal });
              const residual = scaledResidual(meant, await onlyMatrix(x), b, dtype);
              expect(residual).toBeLessThan(THRESHOLD);
            }
          }
        }
      }
    });

    it('takes rows, batches and b to overwrite, and says of a zero on the diagonal', async () => {
      const good = dense(2, 2, (i, j) => (i >= j ? 2 : 0));
      const bad = dense(2, 2, (i, j) => (i > j ? 1 : 0));
      const b = await toTensor([dense(1, 2, () => 4), dense(1, 2, () => 4)], 'float32');
      const a = await toTensor([good, bad], 'float32');
      const options = { rightHandSides: 'rows', overwriteB: true } as const;
      const { x, infos } = await solveTriangular(a, b, options);
      expect(await infos.toNested()).toEqual([0, 1]);
      expect(await x.toNested()).toEqual([[[2, 0]], [[NaN, NaN]]]);
      expect(x.storage).toBe(b.storage);
      const again = solveTriangular(a, x, { rightHandSides: 'rows', checkErrors: true });
      await expect(again).rejects.toThrow(SingularMatrixError);
    });
  });

  describe(`logdet, ${where}`, () => {
    it('is the sum of the logarithms, with the sign', async () => {
      for (const dtype of DTYPES) {
        for (const n of orders) {
          const values = geometric(n, 100).map((value, i) => (i % 3 === 0 ? -value : value));
          const truth = values.reduce((sum, value) => sum + Math.log(Math.abs(value)), 0);
          const negative = values.filter((value) => value < 0).length % 2 === 1;
          const a = await toTensor(symmetricWith(values, n), dtype);
          const { sign, logAbs } = await logdet(a);
          expect(await sign.toNested()).toBe(negative ? -1 : 1);
          const tolerance = 30 * n * 100 * EPSILON[dtype];
          expect(Math.abs(Number(await logAbs.toNested()) - truth)).toBeLessThan(tolerance);
          const squared = await toTensor(definite(n, n, 100), dtype);
          const definiteLog = geometric(n, 100).reduce((sum, value) => sum + Math.log(value), 0);
          for (const uplo of UPLOS) {
            const found = await logdet(squared, { method: 'cholesky', uplo });
            expect(await found.sign.toNested()).toBe(1);
            expect(Math.abs(Number(await found.logAbs.toNested()) - definiteLog)).toBeLessThan(
              tolerance,
            );
          }
        }
      }
    });

    it('is 0 and -Infinity for a singular matrix, NaN for one that is not definite or not finite', async () => {
      const singular = dense(2, 2, () => 1);
      const exchange = dense(2, 2, (i, j) => (i === j ? 0 : 1));
      const broken = dense(2, 2, () => Infinity);
      const a = await toTensor([singular, exchange, broken], 'float64');
      const { sign, logAbs, infos } = await logdet(a);
      expect(await sign.toNested()).toEqual([0, -1, NaN]);
      expect(await logAbs.toNested()).toEqual([-Infinity, 0, NaN]);
      expect(await infos.toNested()).toEqual([2, 0, -1]);
      const strict = await logdet(a, { method: 'cholesky' });
      expect(await strict.logAbs.toNested()).toEqual([NaN, NaN, NaN]);
      await expect(logdet(a, { checkErrors: true })).rejects.toThrow(SingularMatrixError);
    });
  });

  describe(`inv, ${where}`, () => {
    it('is the inverse from LU and from Cholesky factors', async () => {
      for (const dtype of DTYPES) {
        for (const n of orders) {
          const plain = rounded(general(n, n, 1e3), dtype);
          const made = await inv(await toTensor(plain, dtype));
          expect(inverseError(plain, await onlyMatrix(made.inverse), dtype)).toBeLessThan(
            THRESHOLD,
          );
          const positive = rounded(definite(n, n, 1e3), dtype);
          for (const uplo of UPLOS) {
            const a = await toTensor(half(positive, uplo), dtype);
            const found = await inv(a, { method: 'cholesky', uplo });
            const error = inverseError(positive, await onlyMatrix(found.inverse), dtype);
            expect(error).toBeLessThan(THRESHOLD);
          }
        }
      }
    });

    it('is NaN for a singular matrix, and works in place', async () => {
      const a = await toTensor([identity(2), dense(2, 2, () => 1)], 'float32');
      const { inverse: made, infos } = await inv(a, { overwriteA: true });
      expect(made.storage).toBe(a.storage);
      expect(await infos.toNested()).toEqual([0, 2]);
      expect(norm1(minus((await toDense(a))[0]!, identity(2)))).toBe(0);
      expect((await toDense(a))[1]!.data.every(Number.isNaN)).toBe(true);
    });
  });

  describe(`conditionEstimate, ${where}`, () => {
    it('is between a third of the truth and the truth', async () => {
      for (const n of [1, 4, 20]) {
        const a = definite(n, n, 1e4);
        const inverted = await onlyMatrix((await inv(await toTensor(a, 'float64'))).inverse);
        const truth = norm1(a) * norm1(inverted);
        for (const method of ['lu', 'cholesky'] as const) {
          const { condition } = await conditionEstimate(await toTensor(a, 'float64'), { method });
          const found = await condition.toNested();
          expect(found).toBeGreaterThan(truth / 3);
          expect(found).toBeLessThan(truth * (1 + 1e-9));
        }
      }
    });

    it('is Infinity for a singular matrix and NaN for one that is not finite', async () => {
      const matrices = [dense(2, 2, () => 1), dense(2, 2, () => NaN)];
      const { condition, infos } = await conditionEstimate(await toTensor(matrices, 'float32'));
      expect(await condition.toNested()).toEqual([Infinity, NaN]);
      expect(await infos.toNested()).toEqual([2, -1]);
    });
  });
}

/** LAPACK's criterion for inverses: |I - inverse a| / (|a| |inverse| n eps). */
function inverseError(a: Dense, made: Dense, dtype: 'float32' | 'float64'): number {
  const residual = norm1(minus(identity(a.rows), times(made, a)));
  return residual / (norm1(a) * norm1(made) * a.rows * EPSILON[dtype]);
}
