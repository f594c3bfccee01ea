import { distanceBound, type ReferenceMatrix } from './cdist-reference.test-support.js';

/** A gradient in float64 with, per element, the error that float32 may have in units of u. */
export interface ReferenceGradient {
  readonly values: Float64Array;
  readonly bounds: Float64Array;
}

/** Gradients of `sum G cdist(a, b)` straight from the definition, written without any of the code under test. */
export interface ReferenceGradients {
  readonly a: ReferenceGradient;
  readonly b: ReferenceGradient;
  readonly p: ReferenceGradient;
}

const gradientOf = (size: number): ReferenceGradient => ({
  values: new Float64Array(size),
  bounds: new Float64Array(size),
});

/** Computes all gradients of p-norm distances; conventions as `cdistBackward` documents them. */
export function referenceCdistBackward(
  gradient: ReferenceMatrix,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  p: number,
  skipEpilogue = false,
): ReferenceGradients {
  const k = a.columns;
  const result = {
    a: gradientOf(a.rows * k),
    b: gradientOf(b.rows * k),
    p: gradientOf(1),
  };
  const [overN, overM] = [sumUnits(b.rows), sumUnits(a.rows)];
  const put = (to: ReferenceGradient, at: number, value: number, units: number): void => {
    to.values[at] = (to.values[at] ?? 0) + value;
    to.bounds[at] = (to.bounds[at] ?? 0) + Math.abs(value) * units;
  };
  for (let m = 0; m < a.rows; m++) {
    for (let n = 0; n < b.rows; n++) {
      const g = gradient.values[m * b.rows + n] ?? NaN;
      const differences = Array.from(
        { length: k },
        (_, i) => (a.values[m * k + i] ?? NaN) - (b.values[n * k + i] ?? NaN),
      );
      const sizes = differences.map(Math.abs);
      const distance = p === Infinity ? Math.max(...sizes, 0) : norm(sizes, p);
      const error = distance === 0 ? 0 : distanceBound(a, b, m, n, p);
      const first = sizes.indexOf(distance);
      for (const [i, size] of sizes.entries()) {
        if (size === 0) continue;
        const scale = skipEpilogue || distance === 0 ? 1 : distance;
        const ratio = size / scale;
        const slope =
          p === Infinity
            ? Number(i === first)
            : (skipEpilogue ? p : 1) * (p === 1 ? 1 : ratio ** (p - 1));
        const units = 8 + Math.abs(p - 1) * (2 + error + 1.5 * Math.abs(Math.log2(ratio)));
        const value = g * Math.sign(differences[i] ?? 0) * slope;
        const rounding = p === Infinity ? 2 : units;
        put(result.a, m * k + i, value, rounding + overN);
        put(result.b, n * k + i, -value, rounding + overM);
        if (p === Infinity) continue;
        const weight = skipEpilogue ? g : (g * distance) / p;
        const power = ratio ** p;
        put(result.p, 0, weight * power * Math.log(ratio), 16 + p * units + sumUnits(k));
        // A logarithm near 0 has the absolute error of its argument.
        result.p.bounds[0] = (result.p.bounds[0] ?? 0) + Math.abs(weight * power) * (error + 4);
      }
    }
  }
  return result;
}

/** Units of u that a sum of so many terms adds. */
const sumUnits = (terms: number): number => 2 * Math.sqrt(terms) + 4;

function norm(sizes: readonly number[], p: number): number {
  let total = 0;
  for (const size of sizes) total += size ** p;
  return total ** (1 / p);
}
