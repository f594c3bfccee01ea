import { describe, expect, it } from 'vitest';
import { EPSILON, type LinalgDType } from './checks.js';
import { cholesky } from './cholesky.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { lstsq } from './lstsq.js';
import {
  at,
  dense,
  DTYPES,
  flip,
  minus,
  norm1,
  onlyMatrix,
  productError,
  randomMatrix,
  reflected,
  rounded,
  scaledResidual,
  geometric,
  THRESHOLD,
  times,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { qr } from './qr.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { svd } from './svd.js';

/** What a suite of large matrices takes. */
export interface LargeOrders {
  readonly solves: readonly (readonly [order: number, dtype: LinalgDType])[];
  readonly eigen: readonly number[];
  /** Of Cholesky and QR factors, inverses, singular values and least squares. */
  readonly factors: readonly (readonly [order: number, dtype: LinalgDType])[];
}

const LONG = { timeout: 120_000 };

/** Large matrices, held to the thresholds of LAPACK's own tests. */
export function largeSuite(where: string, { solves, eigen, factors }: LargeOrders): void {
  describe(`large matrices, ${where}`, () => {
    it.each(solves)(
      'of order %i in %s are solved to the residual that LAPACK accepts',
      LONG,
      async (n, dtype) => {
        for (const condition of [10, 1e6]) {
          const a = rounded(reflected(geometric(n, condition), n), dtype);
          const b = rounded(randomMatrix(n, 2, 2), dtype);
          using given = await toTensor(a, dtype);
          using sides = await toTensor(b, dtype);
          for (const uplo of ['lower', 'upper'] as const) {
            const { x, infos } = await solveCholesky(given, sides, { uplo });
            expect(await infos.toNested()).toBe(0);
            expect(scaledResidual(a, await onlyMatrix(x), b, dtype)).toBeLessThan(THRESHOLD);
            x.dispose();
          }
          const { x } = await solveLU(given, sides);
          expect(scaledResidual(a, await onlyMatrix(x), b, dtype)).toBeLessThan(THRESHOLD);
          x.dispose();
        }
      },
    );

    it('that are indefinite, singular or not finite say so', async () => {
      const n = 300;
      const last = n - 1;
      for (const dtype of DTYPES) {
        const unit = (corner: number, at: number): Dense =>
          dense(n, n, (i, j) => (i === j ? (i === at ? corner : 1) : 0));
        const b = await toTensor(randomMatrix(n, 1, 5), dtype);
        const bad = await toTensor([unit(-1, 256), unit(NaN, last), unit(1, 0)], dtype);
        const { infos, x } = await solveCholesky(bad, b);
        expect(await infos.toNested()).toEqual([257, -1, 0]);
        const values = await x.toTypedArray();
        expect([...values.subarray(0, 2 * n)].every(Number.isNaN)).toBe(true);
        expect([...values.subarray(2 * n)].some(Number.isNaN)).toBe(false);
        const singular = await toTensor([unit(0, last), unit(Infinity, 3), unit(1, 0)], dtype);
        expect(await (await solveLU(singular, b)).infos.toNested()).toEqual([n, -1, 0]);
        const spectra = await eigh(bad);
        expect(await spectra.infos.toNested()).toEqual([0, -1, 0]);
        expect((await spectra.values.toTypedArray())[n]).toBeNaN();
      }
    });

    it.each(eigen.flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)))(
      'of order %i in %s have eigenvectors to the residual that LAPACK accepts',
      LONG,
      async (n, dtype) => {
        const scale = n * EPSILON[dtype];
        for (const uplo of ['lower', 'upper'] as const) {
          const known = geometric(n, 1e6).map((value, i) => (i % 2 === 0 ? value : -value));
          const a = rounded(reflected(known, 3), dtype);
          const { values, vectors } = await eigh(await toTensor(a, dtype), { uplo });
          const w = await values.toTypedArray();
          const v = await onlyMatrix(vectors);
          // Every pair at once, through random combinations of them: a (v c) = v (w c), and v^T (v c) = c.
          const c = randomMatrix(n, 3, 4);
          const wc = dense(n, 3, (i, j) => (w[i] ?? NaN) * at(c, i, j));
          const vc = times(v, c);
          const off = norm1(minus(times(a, vc), times(v, wc)));
          expect(off / (norm1(a) * norm1(c) * scale)).toBeLessThan(THRESHOLD);
          expect(norm1(minus(times(flip(v), vc), c)) / (norm1(c) * scale)).toBeLessThan(THRESHOLD);
          known.sort((x, y) => x - y);
          const worst = Math.max(...known.map((value, i) => Math.abs(value - (w[i] ?? NaN))));
          expect(worst / scale).toBeLessThan(THRESHOLD);
        }
      },
    );

    it.each(factors)('of order %i in %s have a Cholesky factor', LONG, async (n, dtype) => {
      const a = rounded(reflected(geometric(n, 1e4), n), dtype);
      const c = randomMatrix(n, 3, 1);
      using given = await toTensor(a, dtype);
      for (const uplo of ['lower', 'upper'] as const) {
        const made = await cholesky(given, { uplo });
        expect(await made.infos.toNested()).toBe(0);
        const factor = await onlyMatrix(made.factor);
        const lower = uplo === 'lower' ? factor : flip(factor);
        for (const i of [0, 1, n >> 1, n - 2]) expect(at(lower, i, n - 1)).toBe(0);
        const product = times(lower, times(flip(lower), c));
        expect(productError(times(a, c), product, norm1(a) * norm1(c), dtype)).toBeLessThan(
          THRESHOLD,
        );
      }
    });

    it.each(factors)('of order %i in %s have an inverse', LONG, async (n, dtype) => {
      const values = geometric(n, 100).map((value, i) => (i % 2 === 0 ? value : -value));
      const a = rounded(reflected(values, n), dtype);
      const c = randomMatrix(n, 3, 2);
      using given = await toTensor(a, dtype);
      const made = await inv(given);
      expect(await made.infos.toNested()).toBe(0);
      const inverted = await onlyMatrix(made.inverse);
      const size = norm1(a) * norm1(inverted) * norm1(c);
      expect(productError(times(a, times(inverted, c)), c, size, dtype)).toBeLessThan(THRESHOLD);
      expect(productError(times(inverted, times(a, c)), c, size, dtype)).toBeLessThan(THRESHOLD);
    });

    it.each(factors)('of order %i in %s have QR factors', LONG, async (n, dtype) => {
      for (const [rows, columns] of [
        [n, n],
        [n, n >> 1],
        [n >> 1, n],
      ] as const) {
        const a = rounded(randomMatrix(rows, columns, n), dtype);
        using given = await toTensor(a, dtype);
        const made = await qr(given);
        expect(await made.infos.toNested()).toBe(0);
        const [q, r] = [await onlyMatrix(made.q), await onlyMatrix(made.r)];
        const c = randomMatrix(columns, 3, 3);
        const d = randomMatrix(q.columns, 3, 4);
        const size = norm1(a) * norm1(c);
        expect(productError(times(a, c), times(q, times(r, c)), size, dtype)).toBeLessThan(
          THRESHOLD,
        );
        expect(productError(times(flip(q), times(q, d)), d, norm1(d), dtype)).toBeLessThan(
          THRESHOLD,
        );
      }
    });

    it.each(factors)('of order %i in %s have singular values', LONG, async (n, dtype) => {
      const known = geometric(n, 1e6);
      const a = rounded(
        reflected(
          known.map((value, i) => (i % 3 === 0 ? -value : value)),
          5,
        ),
        dtype,
      );
      using given = await toTensor(a, dtype);
      const made = await svd(given);
      expect(await made.infos.toNested()).toBe(0);
      const s = await made.s.toTypedArray();
      const [u, vh] = [await onlyMatrix(made.u), await onlyMatrix(made.vh)];
      const worst = Math.max(...known.map((value, i) => Math.abs(value - (s[i] ?? NaN))));
      expect(worst / (n * EPSILON[dtype])).toBeLessThan(THRESHOLD);
      const c = randomMatrix(n, 3, 6);
      const rotated = times(vh, c);
      const scaled = dense(n, 3, (i, j) => (s[i] ?? NaN) * at(rotated, i, j));
      const size = norm1(a) * norm1(c);
      expect(productError(times(a, c), times(u, scaled), size, dtype)).toBeLessThan(THRESHOLD);
      for (const q of [u, flip(vh)]) {
        expect(productError(times(flip(q), times(q, c)), c, norm1(c), dtype)).toBeLessThan(
          THRESHOLD,
        );
      }
    });

    it.each(factors)('of order %i in %s have a least-squares solution', LONG, async (n, dtype) => {
      const a = rounded(randomMatrix(n, n >> 1, 7), dtype);
      const b = rounded(randomMatrix(n, 2, 8), dtype);
      using given = await toTensor(a, dtype);
      using sides = await toTensor(b, dtype);
      const made = await lstsq(given, sides);
      expect(await made.rank.toNested()).toBe(n >> 1);
      const x = await onlyMatrix(made.x);
      const gradient = times(flip(a), minus(b, times(a, x)));
      const size = norm1(a) * (norm1(a) * norm1(x) + norm1(b));
      expect(norm1(gradient) / (size * n * EPSILON[dtype])).toBeLessThan(THRESHOLD);
    });
  });
}
