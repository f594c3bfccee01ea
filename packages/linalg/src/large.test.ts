import { describe, expect, it } from 'vitest';
import { EPSILON } from './checks.js';
import { eigh } from './eigh.js';
import {
  at,
  dense,
  DTYPES,
  norm1,
  minus,
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

/** Symmetric and random; positive definite with `diagonal` n. */
function symmetricRandom(n: number, seed: number, diagonal: number): Dense {
  const next = random(seed);
  const data = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) data[i * n + j] = data[j * n + i] = next();
    data[i * n + i]! += diagonal;
  }
  return { rows: n, columns: n, data };
}

describe('large matrices', () => {
  it.each([
    [1024, 'float64'],
    [4096, 'float32'],
  ] as const)(
    'of order %i in %s are solved to the residual that LAPACK accepts',
    async (n, dtype) => {
      const a = rounded(symmetricRandom(n, n, n), dtype);
      const b = rounded(randomMatrix(n, 1, 2), dtype);
      const args = [await toTensor(a, dtype), await toTensor(b, dtype)] as const;
      for (const solve of [solveCholesky, solveLU]) {
        const { x } = await solve(...args);
        expect(scaledResidual(a, await onlyMatrix(x), b, dtype)).toBeLessThan(THRESHOLD);
      }
    },
  );

  it('of order 600 have eigenvectors to the residual that LAPACK accepts', async () => {
    const n = 600;
    for (const dtype of DTYPES) {
      const a = rounded(symmetricRandom(n, 3, 0), dtype);
      const { values, vectors } = await eigh(await toTensor(a, dtype));
      const w = await values.toTypedArray();
      const v = await onlyMatrix(vectors);
      // Every pair at once, through random combinations of them: a (v c) = v (w c).
      const c = randomMatrix(n, 3, 4);
      const wc = dense(n, 3, (i, j) => (w[i] ?? NaN) * at(c, i, j));
      const off = norm1(minus(times(a, times(v, c)), times(v, wc)));
      expect(off / (norm1(a) * norm1(c) * n * EPSILON[dtype])).toBeLessThan(THRESHOLD);
    }
  });
});
