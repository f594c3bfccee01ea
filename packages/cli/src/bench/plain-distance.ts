/** Distances in plain float64 arithmetic: the independent oracle of the tests and the bench. Rows of `a` against rows of `b`. */
export function plainDistances(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  columns: number,
  p: number,
  skipEpilogue = false,
): Float64Array {
  const [m, n] = [a.length / columns, b.length / columns];
  const out = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      out[i * n + j] = plainDistance(a, i * columns, b, j * columns, columns, p, skipEpilogue);
    }
  }
  return out;
}

/** One distance between `columns` numbers of `a` from `atA` on and of `b` from `atB` on. NaN stays NaN for every p. */
export function plainDistance(
  a: ArrayLike<number>,
  atA: number,
  b: ArrayLike<number>,
  atB: number,
  columns: number,
  p: number,
  skipEpilogue = false,
): number {
  let sum = 0;
  for (let k = 0; k < columns; k++) {
    const d = Math.abs((a[atA + k] ?? NaN) - (b[atB + k] ?? NaN));
    if (p === Infinity) sum = Math.max(sum, d);
    else if (p === 1) sum += d;
    else if (p === 2) sum += d * d;
    else sum += d ** p;
  }
  if (skipEpilogue || p === Infinity || p === 1) return sum;
  return p === 2 ? Math.sqrt(sum) : sum ** (1 / p);
}
