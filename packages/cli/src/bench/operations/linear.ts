import { eigh, lapack, matmul, solveCholesky, solveLU, svd } from '@mercer/core';
import type { LinearCell } from '../cells.js';
import { makeOperands, type DataSet } from '../data-sets.js';
import type { Float, FloatArray, ResidualOperation, Results } from './operation.js';
import { multiplyAdds } from './rates.js';
import {
  checkedColumns,
  differenceNorm,
  entryOf,
  epsilonOf,
  largest,
  norm1,
  orthogonality,
  transposed,
  type Matrix,
} from './residuals.js';

/** What differs between operations of linear algebra; the first operand is `a`, n x n. */
interface LinearParts {
  readonly text: string;
  readonly routine: string;
  /** Columns of the second operand; without it there is none. */
  readonly columnsOfB?: (cell: LinearCell) => number;
  readonly results: ResidualOperation['results'];
  /** Operations of one matrix, a multiplication and an addition counted as two. */
  readonly flops: (cell: LinearCell) => number;
  readonly symmetric?: 'indefinite' | 'definite';
  readonly run: (operands: Operands, out: Float | undefined) => Promise<Results>;
  /** Of one batch entry. */
  readonly residual: (cell: LinearCell, operands: MatrixOperands, results: Entry) => number;
}

interface Operands {
  readonly a: Float;
  readonly b: Float;
}

interface MatrixOperands {
  readonly a: Matrix;
  readonly b: Matrix;
}

/** A result of the batch entry by its index, as a matrix. */
type Entry = (index: number, rows: number, columns: number) => Matrix;

const sides = ({ rightHandSides = 1 }: LinearCell): number => rightHandSides;

/**
 * x of a x = b with a Cholesky factor. LAPACK Working Note 41, appendix C: n^3/3 operations for potrf, 2 n^2 for potrs on each
 * right-hand side, to the leading terms. a is symmetric with normal entries, moved so that its condition number is about 5.
 */
export const solveCholeskyOperation = linearOperation({
  text: 'x of a x = b, a symmetric positive definite',
  routine: 'potrf and potrs',
  columnsOfB: sides,
  results: (cell) => [[cell.n, sides(cell)]],
  flops: (cell) => cell.n ** 3 / 3 + 2 * cell.n ** 2 * sides(cell),
  symmetric: 'definite',
  run: async ({ a, b }, out) => {
    const { x, infos } = await solveCholesky(a, b, { out });
    infos.dispose();
    return [x];
  },
  residual: solutionResidual,
});

/** x of a x = b with an LU factor. LAPACK Working Note 41: 2 n^3/3 operations for getrf, 2 n^2 for getrs on each side. */
export const solveLUOperation = linearOperation({
  text: 'x of a x = b, a with normal entries',
  routine: 'getrf and getrs',
  columnsOfB: sides,
  results: (cell) => [[cell.n, sides(cell)]],
  flops: (cell) => (2 * cell.n ** 3) / 3 + 2 * cell.n ** 2 * sides(cell),
  run: async ({ a, b }, out) => {
    const { x, infos } = await solveLU(a, b, { out });
    infos.dispose();
    return [x];
  },
  residual: solutionResidual,
});

/**
 * Eigenvalues and vectors of a symmetric matrix. LAPACK Working Note 41: 4 n^3/3 operations for sytrd, which makes a tridiagonal,
 * and 2 n^3 for ormtr, which takes its vectors back. What syevd does between the two depends on the eigenvalues, down to almost
 * nothing, and is not counted.
 */
export const eighOperation = linearOperation({
  text: 'eigenvalues and eigenvectors of symmetric a',
  routine: 'syevd',
  results: ({ n }) => [[n, n], [n]],
  flops: ({ n }) => (10 * n ** 3) / 3,
  symmetric: 'indefinite',
  run: async ({ a }) => {
    const { values, vectors, infos } = await eigh(a);
    infos.dispose();
    return [vectors, values];
  },
  residual: (cell, { a }, result) => {
    const { n } = cell;
    const [vectors, values] = [result(0, n, n), result(1, 1, n).data];
    const columns = checkedColumns(cell, n);
    const left = differenceNorm(
      a,
      vectors,
      columns,
      (i, j) => (vectors.data[i * n + j] ?? NaN) * (values[j] ?? NaN),
    );
    const epsilon = epsilonOf(cell);
    return largest([left / (norm1(a) * n * epsilon), orthogonality(vectors, columns, epsilon)]);
  },
});

/**
 * The singular value decomposition. LAPACK Working Note 41: 8 n^3/3 operations for gebrd, which makes a bidiagonal, and 2 n^3 for
 * each of the two ormbr, which take its vectors back. What gesdd does between them depends on the singular values and is not
 * counted.
 */
export const svdOperation = linearOperation({
  text: 'u, s and vh of a with normal entries',
  routine: 'gesdd',
  results: ({ n }) => [[n, n], [n], [n, n]],
  flops: ({ n }) => (20 * n ** 3) / 3,
  run: async ({ a }) => {
    const { u, s, vh, infos } = await svd(a);
    infos.dispose();
    return [u, s, vh];
  },
  residual: (cell, { a }, result) => {
    const { n } = cell;
    const [u, s, vh] = [result(0, n, n), result(1, 1, n).data, result(2, n, n)];
    const columns = checkedColumns(cell, n);
    const scaled = Float64Array.from(u.data, (value, i) => value * (s[i % n] ?? NaN));
    const left = differenceNorm(
      { ...u, data: scaled },
      vh,
      columns,
      (i, j) => a.data[i * n + j] ?? NaN,
    );
    const epsilon = epsilonOf(cell);
    return largest([
      left / (norm1(a) * n * epsilon),
      orthogonality(u, columns, epsilon),
      orthogonality(transposed(vh), columns, epsilon),
    ]);
  },
});

/** a b of square matrices. LAPACK Working Note 41: 2 m n k operations for gemm. */
export const matmulOperation = linearOperation({
  text: 'a b, both with normal entries',
  routine: 'gemm',
  columnsOfB: ({ n }) => n,
  results: ({ n }) => [[n, n]],
  flops: ({ n }) => 2 * n ** 3,
  run: async ({ a, b }, out) => [await matmul(a, b, { out })],
  residual: (cell, { a, b }, result) => {
    const { n } = cell;
    const c = result(0, n, n);
    const left = differenceNorm(a, b, checkedColumns(cell, n), (i, j) => c.data[i * n + j] ?? NaN);
    return left / (norm1(a) * norm1(b) * n * epsilonOf(cell));
  },
});

function linearOperation(parts: LinearParts): ResidualOperation {
  const { text, routine, columnsOfB, results, flops, run } = parts;
  return {
    text,
    operands: (cell) => [
      { name: 'a', shape: [cell.n, cell.n] },
      ...(columnsOfB === undefined
        ? []
        : [{ name: 'b', shape: [cell.n, columnsOfB(cell)] as const }]),
    ],
    results,
    makeData: (set, cell) => {
      const { n, batch, dtype } = cell;
      const a = distinctRows(set, dtype, batch * n, n);
      if (parts.symmetric !== undefined) symmetrise(a, n, parts.symmetric);
      if (columnsOfB === undefined) return [a];
      return [a, rightHandSides(set, cell, columnsOfB(cell))];
    },
    prepare: ({ n }, [a, b = a]) => {
      if (a === undefined || b === undefined) throw new RangeError(`no operands of order ${n}`);
      return Promise.resolve({
        plan: `${routine} of ${libraryOf(a, routine)}`,
        run: (out) => run({ a, b }, out?.[0]),
        dispose: () => undefined,
      });
    },
    arithmeticMs: (cell, limits) => {
      const rate = multiplyAdds(cell, limits);
      return rate === undefined ? undefined : ((flops(cell) * cell.batch) / 2 / rate) * 1e3;
    },
    residuals: (cell, data, values) =>
      Array.from({ length: cell.batch }, (_, entry) => {
        const a = entryOf(data[0], cell.n, cell.n, entry);
        const b = columnsOfB === undefined ? a : entryOf(data[1], cell.n, columnsOfB(cell), entry);
        return parts.residual(cell, { a, b }, (index, rows, columns) =>
          entryOf(values[index], rows, columns, entry),
        );
      }),
  };
}

/** What a CPU calls a LAPACK for. */
const OF_LAPACK = ['syevd', 'gesdd'];

/** Where the routine comes from; on a GPU small systems, and what stands around the library's calls, are kernels of ours. */
function libraryOf({ device }: Float, routine: string): string {
  if (device.kind === 'cuda') return 'CUDA';
  if (!OF_LAPACK.includes(routine)) return 'Mercer';
  const library = lapack.report();
  return library.found ? (library.vendor ?? 'LAPACK') : 'ml-matrix';
}

/** |b - a x| / (|a| |x| n eps): LAPACK's criterion for solutions. */
function solutionResidual(cell: LinearCell, { a, b }: MatrixOperands, result: Entry): number {
  const x = result(0, b.rows, b.columns);
  const columns = checkedColumns(cell, b.columns);
  const left = differenceNorm(a, x, columns, (i, j) => b.data[i * b.columns + j] ?? NaN);
  return left / (norm1(a) * norm1(x) * cell.n * epsilonOf(cell));
}

/** Sums of two draws: large matrices take their rows from one store of numbers, and equal rows would make them singular. */
function distinctRows(
  set: DataSet,
  dtype: LinearCell['dtype'],
  rows: number,
  columns: number,
): FloatArray {
  const { a } = makeOperands(set, dtype, rows, 0, columns);
  const { a: other } = makeOperands(set, dtype, rows, 0, columns, 3);
  for (let i = 0; i < a.length; i++) {
    a[i] = ((a[i] ?? NaN) + (other[i] ?? NaN)) * Math.SQRT1_2;
  }
  return a;
}

function rightHandSides(set: DataSet, cell: LinearCell, columns: number): FloatArray {
  return makeOperands(set, cell.dtype, cell.batch * cell.n, 0, columns, 2).a;
}

/**
 * Makes every matrix symmetric from its lower triangle. With normal entries the eigenvalues lie within 2 sqrt(n) of 0, but for
 * the outermost few; the definite ones are moved by more.
 */
function symmetrise(data: FloatArray, n: number, kind: 'indefinite' | 'definite'): void {
  const shift = kind === 'definite' ? 3 * Math.sqrt(n) + 4 : 0;
  for (let start = 0; start < data.length; start += n * n) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) data[start + j * n + i] = data[start + i * n + j] ?? NaN;
      data[start + i * n + i] = (data[start + i * n + i] ?? NaN) + shift;
    }
  }
}
