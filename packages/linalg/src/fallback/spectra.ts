import { EigenvalueDecomposition, Matrix, SingularValueDecomposition } from 'ml-matrix';
import { failed, input, NOT_FINITE, option, type ElementRoutine } from './element.js';
import { allFinite, build, symmetric } from './parts.js';

export const eigh: ElementRoutine = (call) => {
  const a = symmetric(input(call, 'a'), option(call, 'upper') !== 0);
  if (!allFinite(a)) return failed(NOT_FINITE);
  const eigen = new EigenvalueDecomposition(a, { assumeSymmetric: true });
  const found = eigen.realEigenvalues;
  const order = found.map((_, i) => i).sort((i, j) => (found[i] ?? 0) - (found[j] ?? 0));
  const values = Matrix.columnVector(order.map((i) => found[i] ?? 0));
  const columns = eigen.eigenvectorMatrix;
  const vectors = build(a.rows, a.rows, (i, j) => columns.get(i, order[j] ?? 0));
  return { matrices: { values, vectors }, vectors: { infos: 0 } };
};

interface Singular {
  readonly u: Matrix;
  readonly s: readonly number[];
  readonly v: Matrix;
}

function decompose(a: Matrix): Singular {
  const found = new SingularValueDecomposition(a, { autoTranspose: true });
  const few = Math.min(a.rows, a.columns);
  return {
    u: found.leftSingularVectors.subMatrix(0, a.rows - 1, 0, few - 1),
    s: found.diagonal.slice(0, few),
    v: found.rightSingularVectors.subMatrix(0, a.columns - 1, 0, few - 1),
  };
}

export const svd: ElementRoutine = (call) => {
  const a = input(call, 'a');
  if (!allFinite(a)) return failed(NOT_FINITE);
  const { u, s, v } = decompose(a);
  const values = Matrix.columnVector([...s]);
  return { matrices: { s: values, u, vh: v.transpose() }, vectors: { infos: 0 } };
};

export const lstsq: ElementRoutine = (call) => {
  const a = input(call, 'a');
  const b = input(call, 'b');
  if (!allFinite(a) || !allFinite(b)) return failed(NOT_FINITE, { ranks: -1 });
  const { u, s, v } = decompose(a);
  const least = option(call, 'tolerance') * (s[0] ?? 0);
  const inverse = s.map((value) => (value > least ? 1 / value : 0));
  const scaled = Matrix.diag(inverse).mmul(u.transpose().mmul(b));
  return {
    matrices: { x: v.mmul(scaled), singularValues: Matrix.columnVector([...s]) },
    vectors: { infos: 0, ranks: s.filter((value) => value > least).length },
  };
};
