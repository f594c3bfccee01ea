import { describe, expect, it } from 'vitest';
import { EPSILON, type LinalgDType } from './checks.js';
import { eigh } from './eigh.js';
import {
  at,
  dense,
  DTYPES,
  flip,
  minus,
  norm1,
  onlyMatrix,
  random,
  randomMatrix,
  rounded,
  scaledResidual,
  THRESHOLD,
  times,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';

/** What a suite of large matrices takes. */
export interface LargeOrders {
  readonly solves: readonly (readonly [order: number, dtype: LinalgDType])[];
  readonly eigen: readonly number[];
}

/** h diag(values) h with one Householder reflection h: any spectrum in n^2 steps. */
function reflected(values: readonly number[], seed: number): Dense {
  const n = values.length;
  const next = random(seed);
  const v = Float64Array.from(values, () => next());
  const size = Math.hypot(...v);
  for (let i = 0; i < n; i++) v[i]! /= size;
  const middle = values.reduce((sum, value, i) => sum + value * v[i]! * v[i]!, 0);
  return dense(n, n, (i, j) => {
    const both = -2 * v[i]! * v[j]! * (values[i]! + values[j]!) + 4 * v[i]! * v[j]! * middle;
    return both + (i === j ? values[i]! : 0);
  });
}

const spread = (n: number, condition: number): number[] =>
  Array.from({ length: n }, (_, i) => condition ** (-i / Math.max(1, n - 1)));

/** Large matrices, held to the thresholds of LAPACK's own tests. */
export function largeSuite(where: string, { solves, eigen }: LargeOrders): void {
  describe(`large matrices, ${where}`, () => {
    it.each(solves)(
      'of order %i in %s are solved to the residual that LAPACK accepts',
      { timeout: 120_000 },
      async (n, dtype) => {
        for (const condition of [10, 1e6]) {
          const a = rounded(reflected(spread(n, condition), n), dtype);
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
      { timeout: 120_000 },
      async (n, dtype) => {
        const scale = n * EPSILON[dtype];
        for (const uplo of ['lower', 'upper'] as const) {
          const known = spread(n, 1e6).map((value, i) => (i % 2 === 0 ? value : -value));
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
  });
}
