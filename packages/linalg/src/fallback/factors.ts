import { CholeskyDecomposition, LuDecomposition, Matrix } from 'ml-matrix';
import { failed, input, NOT_FINITE, option, type ElementRoutine } from './element.js';
import { allFinite, build, symmetric, triangle, zeroOnDiagonal } from './parts.js';

interface Factor {
  readonly info: number;
  readonly solve: (b: Matrix) => Matrix;
  /** The Cholesky factor below the diagonal, or L without its ones and U. */
  readonly packed: Matrix;
  readonly sign: number;
}

function choleskyFactor(a: Matrix): Factor {
  const factor = new CholeskyDecomposition(a);
  const packed = factor.lowerTriangularMatrix;
  const info = factor.isPositiveDefinite() ? 0 : zeroOnDiagonal(packed);
  return { info, solve: (b) => factor.solve(b), packed, sign: 1 };
}

function luFactor(a: Matrix): Factor {
  const factor = new LuDecomposition(a);
  const lower = factor.lowerTriangularMatrix;
  const upper = factor.upperTriangularMatrix;
  const packed = build(a.rows, a.columns, (i, j) => (i > j ? lower.get(i, j) : upper.get(i, j)));
  const sign = signOf(factor.pivotPermutationVector) * signOfDiagonal(upper);
  return { info: zeroOnDiagonal(upper), solve: (b) => factor.solve(b), packed, sign };
}

/** 1 for an even permutation, -1 for an odd one. */
function signOf(permutation: readonly number[]): number {
  const seen = new Set<number>();
  let sign = 1;
  for (let start = 0; start < permutation.length; start++) {
    let length = 0;
    for (let at = start; !seen.has(at); at = permutation[at] ?? at) {
      seen.add(at);
      length++;
    }
    if (length > 0 && length % 2 === 0) sign = -sign;
  }
  return sign;
}

function signOfDiagonal(a: Matrix): number {
  let sign = 1;
  for (let i = 0; i < a.rows; i++) if (a.get(i, i) < 0) sign = -sign;
  return sign;
}

function factorOf(a: Matrix, cholesky: boolean, upper: boolean): Factor | undefined {
  const whole = cholesky ? symmetric(a, upper) : a;
  if (!allFinite(whole)) return undefined;
  return cholesky ? choleskyFactor(whole) : luFactor(whole);
}

const solveBy =
  (cholesky: boolean): ElementRoutine =>
  (call) => {
    const upper = option(call, 'upper') !== 0;
    const factor = factorOf(input(call, 'a'), cholesky, upper);
    if (factor === undefined) return failed(NOT_FINITE);
    if (factor.info !== 0) return failed(factor.info);
    const x = factor.solve(input(call, 'b'));
    const kept = cholesky && upper ? factor.packed.transpose() : factor.packed;
    return { matrices: { x, factor: kept }, vectors: { infos: 0 } };
  };

export const solveCholesky = solveBy(true);
export const solveLU = solveBy(false);

export const triangularSolve: ElementRoutine = (call) => {
  const unit = option(call, 'unitDiagonal') !== 0;
  const half = triangle(input(call, 'a'), option(call, 'upper') !== 0);
  if (!allFinite(half)) return failed(NOT_FINITE);
  if (unit) for (let i = 0; i < half.rows; i++) half.set(i, i, 1);
  const info = zeroOnDiagonal(half);
  if (info !== 0) return failed(info);
  const matrix = option(call, 'transpose') !== 0 ? half.transpose() : half;
  const x = new LuDecomposition(matrix).solve(input(call, 'b'));
  return { matrices: { x }, vectors: { infos: 0 } };
};

export const cholesky: ElementRoutine = (call) => {
  const upper = option(call, 'upper') !== 0;
  const a = symmetric(input(call, 'a'), upper);
  if (!allFinite(a)) return failed(NOT_FINITE, { jitters: 0 });
  let jitter = 0;
  let factor = choleskyFactor(a);
  let next = option(call, 'jitter') * meanDiagonal(a);
  for (let attempt = 0; attempt < option(call, 'attempts') && factor.info > 0; attempt++) {
    jitter = next;
    factor = choleskyFactor(Matrix.add(a, Matrix.eye(a.rows).mul(jitter)));
    next *= 10;
  }
  if (factor.info !== 0) return failed(factor.info, { jitters: jitter });
  const half = upper ? factor.packed.transpose() : factor.packed;
  return { matrices: { factor: half }, vectors: { infos: 0, jitters: jitter } };
};

function meanDiagonal(a: Matrix): number {
  const sum = a.diagonal().reduce((total, value) => total + Math.abs(value), 0);
  return sum > 0 ? sum / a.rows : 1;
}

export const inverse: ElementRoutine = (call) => {
  const upper = option(call, 'upper') !== 0;
  const factor = factorOf(input(call, 'a'), option(call, 'cholesky') !== 0, upper);
  if (factor === undefined) return failed(NOT_FINITE);
  if (factor.info !== 0) return failed(factor.info);
  const made = factor.solve(Matrix.eye(factor.packed.rows));
  return { matrices: { inverse: made }, vectors: { infos: 0 } };
};

export const logdet: ElementRoutine = (call) => {
  const definite = option(call, 'cholesky') !== 0;
  const factor = factorOf(input(call, 'a'), definite, option(call, 'upper') !== 0);
  if (factor === undefined) return failed(NOT_FINITE, { signs: NaN, logs: NaN });
  const { info, sign, packed } = factor;
  if (info !== 0 && definite) return failed(info, { signs: NaN, logs: NaN });
  if (info !== 0) return failed(info, { signs: 0, logs: -Infinity });
  const sum = packed.diagonal().reduce((total, value) => total + Math.log(Math.abs(value)), 0);
  return { matrices: {}, vectors: { infos: 0, signs: sign, logs: definite ? 2 * sum : sum } };
};

export const condition: ElementRoutine = (call) => {
  const definite = option(call, 'cholesky') !== 0;
  const upper = option(call, 'upper') !== 0;
  const a = input(call, 'a');
  const factor = factorOf(a, definite, upper);
  if (factor === undefined) return failed(NOT_FINITE, { conditions: NaN });
  if (factor.info !== 0) return failed(factor.info, { conditions: definite ? NaN : Infinity });
  const whole = definite ? symmetric(a, upper) : a;
  const conditions = oneNorm(whole) * oneNorm(factor.solve(Matrix.eye(a.rows)));
  return { matrices: {}, vectors: { infos: 0, conditions } };
};

function oneNorm(a: Matrix): number {
  let largest = 0;
  for (let j = 0; j < a.columns; j++) {
    const sum = a.getColumn(j).reduce((total, value) => total + Math.abs(value), 0);
    largest = Math.max(largest, sum);
  }
  return largest;
}
