import { dimError, toVector } from '../check-arguments.js';
import { tensorDot } from '../contraction.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';

export { tensorDot } from '../contraction.js';

/** `A b` for a row-major matrix A of n * p numbers and b of p: n numbers. */
export function matVecMult(matrix: VectorOperand, b: VectorOperand): VectorExpr {
  const [a, x] = [toVector('MatVecMult', matrix), toVector('MatVecMult', b)];
  const rows = divided('MatVecMult', a.dim, x.dim);
  return tensorDot(a, x, [rows, x.dim], [x.dim], [1], [0]);
}

/** `b' A` for b of n numbers and a row-major matrix A of n * p: p numbers. */
export function vecMatMult(b: VectorOperand, matrix: VectorOperand): VectorExpr {
  const [x, a] = [toVector('VecMatMult', b), toVector('VecMatMult', matrix)];
  const columns = divided('VecMatMult', a.dim, x.dim);
  return tensorDot(x, a, [x.dim], [x.dim, columns], [0], [0]);
}

function divided(op: string, matrix: number, vector: number): number {
  if (matrix % vector === 0) return matrix / vector;
  throw dimError(
    op,
    `the matrix has ${matrix} entries and the vector has dim ${vector}`,
    `The number of entries must be a multiple of ${vector}.`,
  );
}

/** All products: entry `k * dim(g) + l` is `f_k g_l`. */
export function tensorProd(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = [toVector('TensorProd', f), toVector('TensorProd', g)];
  return tensorDot(a, b, [a.dim], [b.dim], [], []);
}

/** The Kronecker product of two tensors with the same number of axes: sizes multiply axis by axis. */
export function kron(
  f: VectorOperand,
  g: VectorOperand,
  shapeF: readonly number[],
  shapeG: readonly number[],
): VectorExpr {
  if (shapeF.length !== shapeG.length) {
    throw dimError(
      'Kron',
      `the shapes have ${shapeF.length} and ${shapeG.length} axes`,
      'Give both the same number of axes; sizes may be 1.',
    );
  }
  const even = shapeF.map((_, k) => 2 * k);
  return tensorDot(f, g, shapeF, shapeG, [], [], [...even, ...even.map((k) => k + 1)]);
}
