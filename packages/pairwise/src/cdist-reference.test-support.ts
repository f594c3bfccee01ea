/** A matrix of the oracle: row-major float64 values. */
export interface ReferenceMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

/** A small deterministic generator (mulberry32), uniform in [0, 1). */
export function uniformGenerator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normal values by Box-Muller, rounded to float32 so that both precisions see the same data. */
export function normalValues(count: number, seed: number): Float64Array {
  const uniform = uniformGenerator(seed);
  const out = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    out[i] = Math.fround(radius * Math.cos(2 * Math.PI * uniform()));
  }
  return out;
}

/**
 * Distances in float64 straight from the definition, written without any of the code under test. NaN in a term makes the
 * distance NaN, for every p.
 */
export function referenceCdist(
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  p: number,
  skipEpilogue = false,
): Float64Array {
  const out = new Float64Array(a.rows * b.rows);
  for (let m = 0; m < a.rows; m++) {
    for (let n = 0; n < b.rows; n++) {
      let total = 0;
      for (let k = 0; k < a.columns; k++) {
        const x = a.values[m * a.columns + k] ?? NaN;
        const y = b.values[n * b.columns + k] ?? NaN;
        const distance = Math.abs(x - y);
        if (p === Infinity) {
          total = Number.isNaN(distance) || Number.isNaN(total) ? NaN : Math.max(total, distance);
        } else total += p === 1 ? distance : p === 2 ? distance * distance : distance ** p;
      }
      const rooted = p === Infinity || p === 1 || skipEpilogue ? total : total ** (1 / p);
      out[m * b.rows + n] = rooted;
    }
  }
  return out;
}

/** Distances and the published relative error bound of each, in units of the dtype's u. */
export interface DistanceOracle {
  readonly p: number;
  /** Distances in a row. */
  readonly columns: number;
  readonly values: Float64Array;
  readonly bounds: Float64Array;
}

/** The oracle for all rows of two matrices; a bound without the root is p times as large. */
export function distanceOracle(
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  p: number,
  skipEpilogue = false,
): DistanceOracle {
  const scale = skipEpilogue && p !== 1 ? p : 1;
  const values = referenceCdist(a, b, p, skipEpilogue);
  const bounds = values.map(
    (_, i) => scale * distanceBound(a, b, Math.floor(i / b.rows), i % b.rows, p),
  );
  return { p, columns: b.rows, values, bounds };
}

/**
 * The published relative error bound of one distance, in units of the dtype's u: a sum of K terms of one sign contributes
 * (2 sqrt K + 4) u typically, each term (6 + 1.5 p |log2 d|) u for a general p and 3 u for p = 1 and 2; the outer root
 * divides by p (p > 1) and adds 4 u of its own.
 */
export function distanceBound(
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  m: number,
  n: number,
  p: number,
): number {
  if (p === Infinity) return 1;
  let weighted = 0;
  let total = 0;
  for (let k = 0; k < a.columns; k++) {
    const x = a.values[m * a.columns + k] ?? NaN;
    const y = b.values[n * b.columns + k] ?? NaN;
    const d = Math.abs(x - y);
    if (d === 0) continue;
    const term = d ** p;
    total += term;
    const perTerm = p === 1 || p === 2 ? 3 : 6 + 1.5 * p * Math.abs(Math.log2(d));
    weighted += term * perTerm;
  }
  const sum = 2 * Math.sqrt(a.columns) + 4 + (total === 0 ? 0 : weighted / total);
  return p === 1 ? sum : sum / p + 6 + (1.5 * Math.abs(Math.log2(Math.max(total, 1e-300)))) / p;
}
