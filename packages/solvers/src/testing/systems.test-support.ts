import { tensor, type Device, type Tensor } from '@mercer/tensor';

export type Matrix = readonly (readonly number[])[];

/** Numbers that look random and are the same in every run. */
export const noise = (at: number): number => Math.sin(at * 12.9898 + 1) * Math.cos(at * 4.1414);

export const matrixOf = (rows: number, columns: number, seed = 0): number[][] =>
  Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => noise(seed * 1009 + i * columns + j)),
  );

/** Points on a line, in no order. */
export const pointsOf = (count: number): number[][] =>
  Array.from({ length: count }, (_, at) => [3 * noise(at)]);

/** exp(-|x - y|^2) of points, plus a multiple of the identity. */
export const gaussian = (points: Matrix, shift = 0): number[][] =>
  points.map(([x = 0], i) =>
    points.map(([y = 0], j) => Math.exp(-((x - y) ** 2)) + (i === j ? shift : 0)),
  );

export const times = (a: Matrix, b: Matrix): number[][] =>
  a.map((row) =>
    (b[0] ?? []).map((_, j) => row.reduce((sum, one, k) => sum + one * (b[k]?.[j] ?? 0), 0)),
  );

export const transposed = (a: Matrix): number[][] =>
  (a[0] ?? []).map((_, j) => a.map((row) => row[j] ?? 0));

/** The solution of a system by elimination with pivots. */
export function solved(a: Matrix, b: Matrix): number[][] {
  const rows = a.map((row, i) => [...row, ...(b[i] ?? [])]);
  const n = a.length;
  for (let k = 0; k < n; k++) {
    const size = (i: number): number => Math.abs(rows[i]?.[k] ?? 0);
    const pivot = Array.from({ length: n - k }, (_, at) => k + at).reduce((best, i) =>
      size(i) > size(best) ? i : best,
    );
    [rows[k], rows[pivot]] = [rows[pivot] as number[], rows[k] as number[]];
    const top = rows[k] as number[];
    for (const [i, row] of rows.entries()) {
      if (i === k) continue;
      const factor = (row[k] as number) / (top[k] as number);
      for (let j = k; j < row.length; j++)
        row[j] = (row[j] as number) - factor * (top[j] as number);
    }
  }
  return rows.map((row, i) => row.slice(n).map((one) => one / (row[i] as number)));
}

/** The least-squares solution of a matrix of full rank, the shortest one where there are several, by elimination in the normal equations. */
export function leastSquaresOf(a: Matrix, b: Matrix): number[][] {
  const back = transposed(a);
  if (a.length === (a[0]?.length ?? 0)) return solved(a, b);
  return a.length > back.length
    ? solved(times(back, a), times(back, b))
    : times(back, solved(times(a, back), b));
}

/** Norms of the columns of `b - a x`. */
export function residualNorms(a: Matrix, x: Matrix, b: Matrix): number[] {
  const product = times(a, x);
  return (b[0] ?? []).map((_, j) =>
    Math.sqrt(
      b.reduce((sum, row, i) => sum + ((row[j] as number) - (product[i]?.[j] as number)) ** 2, 0),
    ),
  );
}

export const norms = (b: Matrix): number[] => transposed(b).map((column) => Math.hypot(...column));

export const float64 = (data: Matrix, device: Device): Promise<Tensor<'float64'>> =>
  tensor(data, { device, dtype: 'float64' });

export const nested = async (x: Tensor): Promise<number[][]> => await x.toNested<number[][]>();

/** The largest difference of two matrices, by the largest element of the second. */
export function difference(found: Matrix, expected: Matrix): number {
  const flat = expected.flat();
  const most = Math.max(...flat.map(Math.abs));
  if (found.flat().length !== flat.length) return Infinity;
  return Math.max(...found.flat().map((one, at) => Math.abs(one - (flat[at] as number)))) / most;
}
