import { describe, expect, it } from 'vitest';
import { EPSILON } from './checks.js';
import { eigh } from './eigh.js';
import { NotFiniteError } from './errors.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import {
  at,
  definite,
  dense,
  DTYPES,
  flip,
  geometric,
  minus,
  norm1,
  onlyMatrix,
  orthogonality,
  randomMatrix,
  rounded,
  scaledError,
  symmetricWith,
  THRESHOLD,
  times,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { qr } from './qr.js';
import { svd } from './svd.js';

const diagonal = (values: readonly number[]): Dense =>
  dense(values.length, values.length, (i, j) => (i === j ? (values[i] ?? 0) : 0));

/** Shapes around one order: square, tall and wide. */
const shapes = (n: number): readonly (readonly [number, number])[] => [
  [n, n],
  [2 * n + 1, n],
  [n, n + 3],
];

/** Eigenvalues, orthogonal factors, least squares and products. */
export function orthogonalSuite(where: string, orders: readonly number[]): void {
  describe(`eigh, ${where}`, () => {
    it('reconstructs the matrix with orthonormal vectors, for every order, dtype and triangle', async () => {
      for (const dtype of DTYPES) {
        for (const uplo of ['lower', 'upper'] as const) {
          for (const n of orders) {
            const spectrum = geometric(n, 1e6).map((value, i) => (i % 2 === 0 ? value : -value));
            const a = rounded(symmetricWith(spectrum, n), dtype);
            const read = (i: number, j: number): boolean => (uplo === 'lower' ? i >= j : i <= j);
            const half = dense(n, n, (i, j) => (read(i, j) ? at(a, i, j) : NaN));
            const { values, vectors, infos } = await eigh(await toTensor(half, dtype), { uplo });
            expect(await infos.toNested()).toBe(0);
            const w = Array.from(await values.toTypedArray());
            expect(w).toEqual([...w].sort((x, y) => x - y));
            const v = await onlyMatrix(vectors);
            expect(orthogonality(v, dtype)).toBeLessThan(THRESHOLD);
            const product = times(times(v, diagonal(w)), flip(v));
            expect(scaledError(a, product, dtype)).toBeLessThan(THRESHOLD);
            const truth = [...spectrum].sort((x, y) => x - y);
            const worst = Math.max(...w.map((value, i) => Math.abs(value - truth[i]!)));
            expect(worst).toBeLessThan(THRESHOLD * n * EPSILON[dtype]);
          }
        }
      }
    });

    it('takes batches, works in place, and says which matrix holds NaN', async () => {
      const matrices = [symmetricWith([3, 1], 1), dense(2, 2, () => NaN), symmetricWith([5, 2], 2)];
      const a = await toTensor(matrices, 'float64');
      const { values, vectors, infos } = await eigh(a, { overwriteA: true });
      expect(vectors.storage).toBe(a.storage);
      expect(await infos.toNested()).toEqual([0, -1, 0]);
      const [first, second, third] = await values.toNested<number[][]>();
      expect(first![0]).toBeCloseTo(1, 12);
      expect(second).toEqual([NaN, NaN]);
      expect(third![1]).toBeCloseTo(5, 12);
      const again = eigh(await toTensor(matrices, 'float64'), { checkErrors: true });
      await expect(again).rejects.toThrow(NotFiniteError);
    });
  });

  describe(`qr, ${where}`, () => {
    it('gives orthonormal columns and a triangle, for every shape and dtype', async () => {
      for (const dtype of DTYPES) {
        for (const [rows, columns] of orders.flatMap(shapes)) {
          const a = rounded(randomMatrix(rows, columns, rows), dtype);
          const made = await qr(await toTensor(a, dtype));
          const [q, r] = [await onlyMatrix(made.q), await onlyMatrix(made.r)];
          expect([q.columns, r.rows]).toEqual([Math.min(rows, columns), Math.min(rows, columns)]);
          expect(orthogonality(q, dtype)).toBeLessThan(THRESHOLD);
          expect(scaledError(a, times(q, r), dtype)).toBeLessThan(THRESHOLD);
          const below = r.data.filter((_, k) => Math.floor(k / columns) > k % columns);
          expect(below.every((value) => value === 0)).toBe(true);
        }
      }
    });

    it('takes transposed batches, and says which matrix holds infinity', async () => {
      const broken = dense(3, 2, (i) => (i === 1 ? Infinity : 1));
      const a = (await toTensor([randomMatrix(3, 2, 1), broken], 'float32')).transpose();
      const { q, r, infos } = await qr(a);
      expect([q.shape, r.shape]).toEqual([
        [2, 2, 2],
        [2, 2, 3],
      ]);
      expect(await infos.toNested()).toEqual([0, -1]);
      expect((await toDense(q))[1]!.data.every(Number.isNaN)).toBe(true);
      await expect(qr(a, { checkErrors: true })).rejects.toThrow(NotFiniteError);
    });
  });

  describe(`svd, ${where}`, () => {
    it('reconstructs the matrix with orthonormal factors, for every shape and dtype', async () => {
      for (const dtype of DTYPES) {
        for (const [rows, columns] of orders.flatMap(shapes)) {
          const a = rounded(randomMatrix(rows, columns, columns), dtype);
          const made = await svd(await toTensor(a, dtype));
          const [u, vh] = [await onlyMatrix(made.u), await onlyMatrix(made.vh)];
          const s = Array.from(await made.s.toTypedArray());
          expect(s).toEqual([...s].sort((x, y) => y - x));
          expect(s.every((value) => value >= 0)).toBe(true);
          expect(orthogonality(u, dtype)).toBeLessThan(THRESHOLD);
          expect(orthogonality(flip(vh), dtype)).toBeLessThan(THRESHOLD);
          const product = times(times(u, diagonal(s)), vh);
          expect(scaledError(a, product, dtype)).toBeLessThan(THRESHOLD);
        }
      }
    });

    it('has zeros for what is rank deficient, and NaN for NaN', async () => {
      const a = await toTensor([dense(3, 2, () => 1), dense(3, 2, () => NaN)], 'float64');
      const { s, infos } = await svd(a);
      const values = await s.toNested<number[][]>();
      expect(values[0]![0]).toBeCloseTo(Math.sqrt(6), 12);
      expect(values[0]![1]).toBeCloseTo(0, 12);
      expect(values[1]).toEqual([NaN, NaN]);
      expect(await infos.toNested()).toEqual([0, -1]);
    });
  });

  describe(`lstsq, ${where}`, () => {
    it('leaves a residual that is orthogonal to the columns, for every shape and dtype', async () => {
      for (const dtype of DTYPES) {
        for (const [rows, columns] of orders.flatMap(shapes)) {
          const a = rounded(randomMatrix(rows, columns, 3 * rows), dtype);
          const b = rounded(randomMatrix(rows, 2, 7), dtype);
          const made = await lstsq(await toTensor(a, dtype), await toTensor(b, dtype));
          const x = await onlyMatrix(made.x);
          expect(await made.rank.toNested()).toBe(Math.min(rows, columns));
          const residual = minus(b, times(a, x));
          const scale = norm1(a) * (norm1(a) * norm1(x) + norm1(b)) * Math.max(rows, columns);
          const ratio = norm1(times(flip(a), residual)) / (scale * EPSILON[dtype]);
          expect(ratio).toBeLessThan(THRESHOLD);
        }
      }
    });

    it('gives the solution of least norm where the rank is deficient', async () => {
      const a = dense(3, 2, (i) => i + 1);
      const b = dense(3, 1, (i) => 2 * (i + 1));
      const made = await lstsq(await toTensor(a, 'float64'), await toTensor(b, 'float64'));
      expect(await made.rank.toNested()).toBe(1);
      for (const value of await made.x.toTypedArray()) expect(value).toBeCloseTo(1, 12);
      const all = await toTensor(diagonal([1, 0.01]), 'float64');
      const { rank } = await lstsq(all, all, { tolerance: 0.1 });
      expect(await rank.toNested()).toBe(1);
    });

    it('takes rows and batches; NaN in either input is said', async () => {
      const a = [randomMatrix(4, 2, 1), dense(4, 2, () => NaN)];
      const b = await toTensor(
        dense(1, 4, () => 1),
        'float32',
      );
      const made = await lstsq(await toTensor(a, 'float32'), b, { rightHandSides: 'rows' });
      expect(made.x.shape).toEqual([2, 1, 2]);
      expect(await made.infos.toNested()).toEqual([0, -1]);
      expect(await made.rank.toNested()).toEqual([2, -1]);
      await expect(
        lstsq(b, b, { rightHandSides: 'rows', tolerance: 2 } as never),
      ).rejects.toThrow();
    });
  });

  describe(`matmul, ${where}`, () => {
    it('multiplies operands of every orientation, alpha and beta', async () => {
      for (const dtype of DTYPES) {
        for (const transposeA of [false, true]) {
          for (const transposeB of [false, true]) {
            for (const columnMajorOut of [false, true]) {
              const a = rounded(randomMatrix(5, 7, 1), dtype);
              const b = rounded(randomMatrix(7, 4, 2), dtype);
              const c = rounded(randomMatrix(5, 4, 3), dtype);
              const out = columnMajorOut
                ? (await toTensor(flip(c), dtype)).transpose()
                : await toTensor(c, dtype);
              const left = await toTensor(transposeA ? flip(a) : a, dtype);
              const right = await toTensor(transposeB ? flip(b) : b, dtype);
              const scaled = { alpha: 2, beta: -0.5, out };
              expect(await matmul(left, right, { transposeA, transposeB, ...scaled })).toBe(out);
              const product = times(a, b);
              const truth = dense(5, 4, (i, j) => 2 * at(product, i, j) - 0.5 * at(c, i, j));
              expect(scaledError(truth, await onlyMatrix(out), dtype)).toBeLessThan(THRESHOLD);
            }
          }
        }
      }
    });

    it('broadcasts batches, reads any strides and carries NaN', async () => {
      const a = await toTensor([randomMatrix(3, 4, 1), randomMatrix(3, 4, 2)], 'float64');
      const wide = await toTensor(randomMatrix(8, 6, 3), 'float64');
      const b = wide.slice([0, 8, 2], [0, 6, 3]);
      const product = await matmul(a, b);
      expect(product.shape).toEqual([2, 3, 2]);
      const factors = await toDense(a);
      const right = await onlyMatrix(b);
      for (const [i, one] of (await toDense(product)).entries()) {
        expect(scaledError(times(factors[i]!, right), one, 'float64')).toBeLessThan(THRESHOLD);
      }
      const nan = await matmul(
        await toTensor(
          dense(2, 2, (i) => (i === 0 ? NaN : 1)),
          'float64',
        ),
        b.slice([0, 2]),
      );
      const { data } = await onlyMatrix(nan);
      expect([...data].map(Number.isNaN)).toEqual([true, true, false, false]);
    });

    it('does not read out where beta is 0', async () => {
      const out = await toTensor(
        dense(2, 2, () => NaN),
        'float64',
      );
      const a = await toTensor(definite(2, 1), 'float64');
      await matmul(a, a, { out });
      expect((await onlyMatrix(out)).data.every(Number.isFinite)).toBe(true);
    });
  });
}
