import { describe, expect, it } from 'vitest';
import {
  eigh,
  kernels,
  runKernel,
  solveCholesky,
  solveLU,
  tensor,
  type Device,
  type Tensor,
} from './index.js';

/** Kermac's own sizes: systems, rows of each, right-hand sides, features; and its bound, relative to the largest number. */
const [L, N, C, K] = [100, 7, 2, 5];
const TOLERANCE = 1e-5;

const uniform = (seed: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, n) => {
    const x = Math.sin(12.9898 * (n + 1) + 78.233 * seed) * 43_758.5453;
    return 2 * (x - Math.floor(x)) - 1;
  });

type Entry = (row: number, column: number) => number;

/** One matrix of a batch of `columns` columns and N rows. */
const matrixOf =
  (values: ArrayLike<number>, columns: number, at: number): Entry =>
  (row, column) =>
    values[(at * N + row) * columns + column] ?? NaN;

const rows = Array.from({ length: N }, (_, row) => row);
const sum = (of: (n: number) => number): number => rows.reduce((all, n) => all + of(n), 0);

/** The kernel in float64 straight from its definition. */
function kernelOf(points: ArrayLike<number>, at: number, p: 1 | 2): Entry {
  const x = matrixOf(points, K, at);
  return (i, j) => {
    let distance = 0;
    for (let c = 0; c < K; c++) distance += Math.abs(x(i, c) - x(j, c)) ** p;
    return Math.exp(-(p === 1 ? distance : Math.sqrt(distance)));
  };
}

/** Eigenvalues in ascending order, by Jacobi's rotations. */
function spectrum(of: Entry): number[] {
  const a = rows.map((i) => rows.map((j) => of(i, j)));
  for (let sweep = 0; sweep < 30; sweep++) {
    for (const p of rows) {
      for (const q of rows.slice(p + 1)) {
        const apq = a[p]![q]!;
        if (apq === 0) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * apq);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (const k of rows) {
          const [kp, kq] = [a[k]![p]!, a[k]![q]!];
          a[k]![p] = c * kp - s * kq;
          a[k]![q] = s * kp + c * kq;
        }
        for (const k of rows) {
          const [pk, qk] = [a[p]![k]!, a[q]![k]!];
          a[p]![k] = c * pk - s * qk;
          a[q]![k] = s * pk + c * qk;
        }
      }
    }
  }
  return rows.map((i) => a[i]![i]!).sort((x, y) => x - y);
}

/** Kermac's tests of its linear algebra: Laplacian kernel matrices, solved and diagonalised. */
export function describeKermacSolves(device: () => Device): void {
  describe.each([
    ['l1', kernels.laplace, 1],
    ['l2', kernels.exponential, 2],
  ] as const)('a hundred Laplacian kernel matrices by %s', (_, kernel, p) => {
    const points = uniform(1, L * N * K);
    const sides = uniform(2, L * N * C);
    const make = async (): Promise<Tensor<'float32'>> => {
      const x = await tensor(points, { shape: [L, N, K], device: device() });
      return runKernel(kernel, x, x, { bandwidth: 1 });
    };

    it.each(['lower', 'upper', 'LU'] as const)('are solved: %s', async (how) => {
      const matrices = await make();
      const b = await tensor(sides, { shape: [L, N, C], device: device() });
      const { x, infos } = await (how === 'LU'
        ? solveLU(matrices, b)
        : solveCholesky(matrices, b, { uplo: how }));
      expect([...(await infos.toTypedArray())]).toEqual(new Array(L).fill(0));
      const found = await x.toTypedArray();
      for (let at = 0; at < L; at++) {
        const [a, solution] = [kernelOf(points, at, p), matrixOf(found, C, at)];
        const given = matrixOf(sides, C, at);
        for (let c = 0; c < C; c++) {
          const size = Math.max(
            1,
            ...rows.map((i) => sum((j) => Math.abs(a(i, j) * solution(j, c)))),
          );
          for (const i of rows) {
            const off = Math.abs(sum((j) => a(i, j) * solution(j, c)) - given(i, c));
            expect(off).toBeLessThan(TOLERANCE * size);
          }
        }
      }
    });

    it.each(['lower', 'upper'] as const)('are diagonalised: %s', async (uplo) => {
      const { values, vectors, infos } = await eigh(await make(), { uplo });
      expect([...(await infos.toTypedArray())]).toEqual(new Array(L).fill(0));
      const [w, v] = [await values.toTypedArray(), await vectors.toTypedArray()];
      for (let at = 0; at < L; at++) {
        const [a, vector] = [kernelOf(points, at, p), matrixOf(v, N, at)];
        const own = (n: number): number => w[at * N + n] ?? NaN;
        const wanted = spectrum(a);
        const bound = TOLERANCE * (wanted.at(-1) ?? NaN);
        for (const i of rows) {
          expect(Math.abs(own(i) - (wanted[i] ?? NaN))).toBeLessThan(bound);
          for (const j of rows) {
            const again = sum((n) => vector(i, n) * own(n) * vector(j, n));
            expect(Math.abs(again - a(i, j))).toBeLessThan(bound);
          }
        }
      }
    });
  });
}
