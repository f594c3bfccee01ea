import { empty, tensor, type DeviceLike, type Tensor } from '@mercer/tensor';
import { EPSILON, type LinalgDType } from './checks.js';

/** A dense row-major float64 matrix, for references that know nothing of the code under test. */
export interface Dense {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float64Array;
}

export const DTYPES: readonly LinalgDType[] = ['float32', 'float64'];

export function dense(
  rows: number,
  columns: number,
  element: (i: number, j: number) => number,
): Dense {
  const data = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) data[i * columns + j] = element(i, j);
  }
  return { rows, columns, data };
}

export const at = (a: Dense, i: number, j: number): number => a.data[i * a.columns + j] ?? NaN;

export const identity = (n: number): Dense => dense(n, n, (i, j) => (i === j ? 1 : 0));

export const flip = (a: Dense): Dense => dense(a.columns, a.rows, (i, j) => at(a, j, i));

export const minus = (a: Dense, b: Dense): Dense =>
  dense(a.rows, a.columns, (i, j) => at(a, i, j) - at(b, i, j));

export function times(a: Dense, b: Dense): Dense {
  const { columns } = b;
  const out = new Float64Array(a.rows * columns);
  for (let i = 0; i < a.rows; i++) {
    for (let k = 0; k < a.columns; k++) {
      const factor = at(a, i, k);
      for (let j = 0; j < columns; j++) out[i * columns + j]! += factor * at(b, k, j);
    }
  }
  return { rows: a.rows, columns, data: out };
}

/** The largest sum of magnitudes in a column; NaN where there is one. */
export function norm1({ columns, data }: Dense): number {
  const sums = new Float64Array(columns);
  for (let start = 0; start < data.length; start += columns) {
    for (let j = 0; j < columns; j++) sums[j]! += Math.abs(data[start + j]!);
  }
  return sums.reduce((largest, sum) => Math.max(largest, sum), 0);
}

/** Seeded numbers in (-1, 1): mulberry32. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

export function randomMatrix(rows: number, columns: number, seed: number): Dense {
  const next = random(seed);
  return dense(rows, columns, () => next());
}

/** A product of a few random reflections: orthogonal to rounding. */
export function randomOrthogonal(n: number, seed: number): Dense {
  let q = identity(n);
  for (let round = 0; round < 3; round++) {
    const v = randomMatrix(n, 1, seed + round);
    const square = v.data.reduce((sum, x) => sum + x * x, 0);
    const row = times(flip(v), q);
    const previous = q;
    q = dense(n, n, (i, j) => at(previous, i, j) - (2 * at(v, i, 0) * at(row, 0, j)) / square);
  }
  return q;
}

/** Symmetric with these eigenvalues. */
export function symmetricWith(eigenvalues: readonly number[], seed: number): Dense {
  const n = eigenvalues.length;
  const q = randomOrthogonal(n, seed);
  const scaled = dense(n, n, (i, j) => at(q, i, j) * (eigenvalues[j] ?? 0));
  const a = times(scaled, flip(q));
  return dense(n, n, (i, j) => (at(a, i, j) + at(a, j, i)) / 2);
}

/** From 1 down to 1 / condition, geometrically. */
export function geometric(n: number, condition: number): number[] {
  return Array.from({ length: n }, (_, i) => condition ** (n === 1 ? 0 : -i / (n - 1)));
}

/** h diag(values) h with one Householder reflection h: any spectrum in n^2 steps. */
export function reflected(values: readonly number[], seed: number): Dense {
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

/** Symmetric positive definite, of this condition number. */
export const definite = (n: number, seed: number, condition = 10): Dense =>
  symmetricWith(geometric(n, condition), seed);

/** A general square matrix with these singular values. */
export const general = (n: number, seed: number, condition = 10): Dense => {
  const u = randomOrthogonal(n, seed);
  const s = geometric(n, condition);
  const v = randomOrthogonal(n, seed + 7);
  return times(
    dense(n, n, (i, j) => at(u, i, j) * (s[j] ?? 0)),
    v,
  );
};

let placement: DeviceLike = 'cpu';

/** Where the tensors of the suites lie from now on. */
export function placeTensors(on: DeviceLike): void {
  placement = on;
}

/** Uninitialised, where the tensors of the suites lie. */
export function emptyTensor<D extends LinalgDType>(shape: readonly number[], dtype: D): Tensor<D> {
  return empty(shape, { dtype, device: placement });
}

/** A stack of matrices of one shape as a tensor (batch, rows, columns), or one matrix without a batch axis. */
export async function toTensor<D extends LinalgDType>(
  matrices: Dense | readonly Dense[],
  dtype: D,
): Promise<Tensor<D>> {
  const list = 'data' in matrices ? [matrices] : matrices;
  const { rows, columns } = list[0] ?? { rows: 0, columns: 0 };
  const data = new Float64Array(list.length * rows * columns);
  list.forEach((one, i) => data.set(one.data, i * rows * columns));
  const shape = 'data' in matrices ? [rows, columns] : [list.length, rows, columns];
  return tensor(data, { shape, dtype, device: placement });
}

/** The matrices of a tensor, in the order of its batch entries. */
export async function toDense(x: Tensor): Promise<Dense[]> {
  const values = new Float64Array((await x.toTypedArray()) as Float32Array | Float64Array);
  const [rows = 1, columns = 1] = x.shape.slice(-2);
  const size = rows * columns;
  return Array.from({ length: size === 0 ? 0 : values.length / size }, (_, i) => ({
    rows,
    columns,
    data: values.slice(i * size, (i + 1) * size),
  }));
}

/** The same for a tensor that holds one matrix. */
export async function onlyMatrix(x: Tensor): Promise<Dense> {
  const [first] = await toDense(x);
  if (first === undefined) throw new Error('the tensor is empty');
  return first;
}

/** The matrix as the dtype has it: what a computation was really given. */
export const rounded = (a: Dense, dtype: LinalgDType): Dense =>
  dtype === 'float64' ? a : { ...a, data: new Float64Array(new Float32Array(a.data)) };

/** LAPACK's criterion for solutions: |b - a x| / (|a| |x| n eps), to be below 30. */
export function scaledResidual(a: Dense, x: Dense, b: Dense, dtype: LinalgDType): number {
  const residual = norm1(minus(b, times(a, x)));
  return residual / (norm1(a) * norm1(x) * a.rows * EPSILON[dtype]);
}

/** How far one side of an equation is from the other, both times a few random vectors: of the terms' size, n and rounding. */
export const productError = (left: Dense, right: Dense, size: number, dtype: LinalgDType): number =>
  norm1(minus(left, right)) / (size * left.rows * EPSILON[dtype]);

/** LAPACK's criterion for factorisations: |a - product| / (|a| n eps), to be below 30. */
export function scaledError(a: Dense, product: Dense, dtype: LinalgDType): number {
  return norm1(minus(a, product)) / (norm1(a) * Math.max(a.rows, a.columns) * EPSILON[dtype]);
}

/**
 * The same for LU factors with row exchanges, in one matrix: each row of a stands for the row of l u that is nearest to it, and
 * may be taken once.
 */
export function factorsError(a: Dense, factors: Dense, dtype: LinalgDType): number {
  const n = a.rows;
  const lower = dense(n, n, (i, j) => (i === j ? 1 : i > j ? at(factors, i, j) : 0));
  const product = times(
    lower,
    dense(n, n, (i, j) => (i <= j ? at(factors, i, j) : 0)),
  );
  const free = new Set(Array.from({ length: n }, (_, i) => i));
  const order = Array.from({ length: n }, (_, i) => {
    let [nearest, least] = [NaN, Infinity];
    for (const row of free) {
      let off = 0;
      for (let j = 0; j < n; j++) off += Math.abs(at(a, i, j) - at(product, row, j));
      if (off < least) [nearest, least] = [row, off];
    }
    free.delete(nearest);
    return nearest;
  });
  return scaledError(
    a,
    dense(n, n, (i, j) => at(product, order[i]!, j)),
    dtype,
  );
}

/** LAPACK's criterion for orthonormal columns: |I - q^T q| / (n eps), to be below 30. */
export function orthogonality(q: Dense, dtype: LinalgDType): number {
  return norm1(minus(identity(q.columns), times(flip(q), q))) / (q.rows * EPSILON[dtype]);
}

/** What LAPACK's own tests accept. */
export const THRESHOLD = 30;
