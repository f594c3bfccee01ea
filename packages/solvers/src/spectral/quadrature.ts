import { eigh } from '@mercer/linalg';
import { tensor } from '@mercer/tensor';
import type { Recurrence } from './lanczos-process.js';

/** Gauss quadrature by the recurrences of several starts (Golub and Welsch 1969). */
export interface Quadrature {
  /** `u . log(A) u` for each unit start u. */
  readonly logarithms: readonly number[];
  /** The least node of all. */
  readonly least: number;
}

/** Computed on the host in float64: nodes are eigenvalues of the tridiagonal matrices, weights the squares of the first elements of eigenvectors. */
export async function quadrature(all: readonly Recurrence[]): Promise<Quadrature> {
  const size = Math.max(...all.map(({ diagonal }) => diagonal.length));
  // a start whose space was invariant before has ones behind its coefficients, which weigh nothing
  const matrices = all.map(({ diagonal, beyond }) =>
    Array.from({ length: size }, (_, i) =>
      Array.from({ length: size }, (_, j) => {
        if (i === j) return diagonal[i] ?? 1;
        const [low, high] = [Math.min(i, j), Math.max(i, j)];
        return high - low === 1 && high < diagonal.length ? (beyond[low] as number) : 0;
      }),
    ),
  );
  using stacked = await tensor(matrices, { device: 'cpu', dtype: 'float64' });
  const found = await eigh(stacked, { checkErrors: true });
  using values = found.values;
  using vectors = found.vectors;
  found.infos.dispose();
  const nodes = await values.toNested<number[][]>();
  using first = vectors.slice(null, 0);
  const elements = await first.toNested<number[][]>();
  return {
    logarithms: nodes.map((row, at) =>
      row.reduce((total, node, k) => {
        const element = elements[at]?.[k] as number;
        return total + element * element * Math.log(node);
      }, 0),
    ),
    least: Math.min(...nodes.flat()),
  };
}
