/** The nearest points of one row, nearest first; equal distances keep the lower index first. */
export interface Neighbours {
  /** `rows` x `k` indices. */
  readonly indices: Uint32Array;
  /** Their distances. */
  readonly distances: Float32Array | Float64Array;
  readonly k: number;
}

/**
 * The `k` smallest entries of each row of a row-major `rows` x `columns` matrix of distances.
 * NaN is never nearer than a number.
 */
export function nearestNeighbours(
  distances: Float32Array | Float64Array,
  rows: number,
  columns: number,
  k: number,
): Neighbours {
  const kept = Math.min(k, columns);
  const indices = new Uint32Array(rows * kept);
  const nearest = new Float64Array(rows * kept);
  for (let row = 0; row < rows; row++) {
    const best = nearest.subarray(row * kept, (row + 1) * kept).fill(Infinity);
    const where = indices.subarray(row * kept, (row + 1) * kept);
    for (let i = 0; i < kept; i++) where[i] = i;
    let filled = 0;
    for (let column = 0; column < columns; column++) {
      const raw = distances[row * columns + column] ?? NaN;
      const distance = Number.isNaN(raw) ? Infinity : raw;
      if (filled === kept && !(distance < (best[kept - 1] ?? Infinity))) continue;
      let slot = Math.min(filled, kept - 1);
      while (slot > 0 && distance < (best[slot - 1] ?? Infinity)) {
        best[slot] = best[slot - 1] ?? Infinity;
        where[slot] = where[slot - 1] ?? 0;
        slot--;
      }
      best[slot] = distance;
      where[slot] = column;
      if (filled < kept) filled++;
    }
  }
  return { indices, distances: nearest, k: kept };
}

/**
 * The label that most of the neighbours carry. A tie goes to the label whose neighbours are nearer in sum,
 * then to the smaller label.
 */
export function vote(
  labels: ArrayLike<number>,
  distances: ArrayLike<number>,
  classes: number,
): number {
  const counts = new Uint32Array(classes);
  const sums = new Float64Array(classes);
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i] ?? 0;
    counts[label] = (counts[label] ?? 0) + 1;
    sums[label] = (sums[label] ?? 0) + (distances[i] ?? 0);
  }
  let winner = 0;
  for (let label = 1; label < classes; label++) {
    const [count = 0, most = 0] = [counts[label], counts[winner]];
    if (count > most || (count === most && count > 0 && (sums[label] ?? 0) < (sums[winner] ?? 0))) {
      winner = label;
    }
  }
  return winner;
}
