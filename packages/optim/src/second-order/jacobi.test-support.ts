/** Small dense matrices in float64, for references. */
export type Matrix = number[][];

export const zeros = (rows: number, columns = rows): Matrix =>
  Array.from({ length: rows }, () => new Array<number>(columns).fill(0));

export const identity = (n: number): Matrix =>
  zeros(n).map((row, i) => row.map((_, j) => +(i === j)));

export const transposed = (a: Matrix): Matrix =>
  (a[0] ?? []).map((_, j) => a.map((row) => row[j] ?? NaN));

export const times = (a: Matrix, b: Matrix): Matrix => {
  const columns = transposed(b);
  return a.map((row) =>
    columns.map((column) => row.reduce((sum, x, k) => sum + x * (column[k] ?? NaN), 0)),
  );
};

export const combined = (a: Matrix, x: number, b: Matrix, y: number): Matrix =>
  a.map((row, i) => row.map((one, j) => x * one + y * (b[i]?.[j] ?? NaN)));

/** Eigenvalues, falling, and vectors as columns of a symmetric matrix, by Jacobi's rotations. */
export function jacobi(symmetric: Matrix): { values: number[]; vectors: Matrix } {
  const n = symmetric.length;
  const a = symmetric.map((row) => [...row]);
  let v = identity(n);
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const apq = a[p]![q]!;
        off += apq * apq;
        if (apq === 0) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * apq);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < n; k++) {
          const [x, y] = [a[k]![p]!, a[k]![q]!];
          a[k]![p] = c * x - s * y;
          a[k]![q] = s * x + c * y;
        }
        for (let k = 0; k < n; k++) {
          const [x, y] = [a[p]![k]!, a[q]![k]!];
          a[p]![k] = c * x - s * y;
          a[q]![k] = s * x + c * y;
        }
        v = v.map((row) => {
          const [x, y] = [row[p]!, row[q]!];
          const next = [...row];
          next[p] = c * x - s * y;
          next[q] = s * x + c * y;
          return next;
        });
      }
    }
    if (off < 1e-300) break;
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => a[j]![j]! - a[i]![i]!);
  return {
    values: order.map((i) => a[i]![i]!),
    vectors: v.map((row) => order.map((i) => row[i]!)),
  };
}

/** f of a symmetric matrix. */
export function ofSymmetric(a: Matrix, f: (value: number) => number): Matrix {
  const { values, vectors } = jacobi(a);
  const scaled = vectors.map((row) => row.map((x, j) => x * f(values[j]!)));
  return times(scaled, transposed(vectors));
}

/** The orthonormal factor of a QR factorisation, by Gram and Schmidt twice; R's diagonal is positive. */
export function orthonormal(a: Matrix): Matrix {
  const columns = transposed(a);
  const done: Matrix = [];
  for (const column of columns) {
    let x = [...column];
    for (let round = 0; round < 2; round++) {
      for (const q of done) {
        const share = q.reduce((sum, one, k) => sum + one * x[k]!, 0);
        x = x.map((one, k) => one - share * q[k]!);
      }
    }
    const norm = Math.hypot(...x);
    done.push(x.map((one) => one / norm));
  }
  return transposed(done);
}

/** x = a^-1 b by elimination with pivots. */
export function solved(a: Matrix, b: Matrix): Matrix {
  const n = a.length;
  const rows = a.map((row, i) => [...row, ...(b[i] ?? [])]);
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k; i < n; i++) if (Math.abs(rows[i]![k]!) > Math.abs(rows[pivot]![k]!)) pivot = i;
    [rows[k], rows[pivot]] = [rows[pivot]!, rows[k]!];
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const share = rows[i]![k]! / rows[k]![k]!;
      for (let j = k; j < rows[i]!.length; j++) rows[i]![j]! -= share * rows[k]![j]!;
    }
  }
  return rows.map((row, i) => row.slice(n).map((x) => x / row[i]!));
}

/** A tensor as a nested list of numbers with its shape: element i of row-major order. */
export interface Block {
  readonly sizes: readonly number[];
  readonly data: number[];
}

const strideOf = (sizes: readonly number[], axis: number): number =>
  sizes.slice(axis + 1).reduce((product, size) => product * size, 1);

/** The sum over all other axes of products of elements. */
export function gram({ sizes, data }: Block, axis: number): Matrix {
  const n = sizes[axis]!;
  const stride = strideOf(sizes, axis);
  const result = zeros(n);
  for (const [at, x] of data.entries()) {
    const i = Math.floor(at / stride) % n;
    for (let j = 0; j < n; j++) result[i]![j]! += x * data[at + (j - i) * stride]!;
  }
  return result;
}

/** The sum over j of m[i][j] x[.., j, ..]. */
export function along({ sizes, data }: Block, m: Matrix, axis: number): Block {
  const n = sizes[axis]!;
  const stride = strideOf(sizes, axis);
  return {
    sizes,
    data: data.map((_, at) => {
      const i = Math.floor(at / stride) % n;
      let sum = 0;
      for (let j = 0; j < n; j++) sum += m[i]![j]! * data[at + (j - i) * stride]!;
      return sum;
    }),
  };
}
