/** Below this the series is used, above the continued fraction. */
const SWITCH = 1;

/** The error function, within 2e-15 of its size. Abramowitz and Stegun 7.1.6. */
export function erf(x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x) || size > 6) return Math.sign(x);
  if (size > 2) return Math.sign(x) * (1 - erfc(size));
  // 2 / sqrt(pi) exp(-x^2) sum of (2 x^2)^n x / (1 3 5 ... (2n + 1)): every term has one sign.
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * expMinusSquare(x) * sum;
}

/** `1 - erf(x)` without cancellation, within 3e-15 of its size. Abramowitz and Stegun 7.1.14. */
export function erfc(x: number): number {
  if (Number.isNaN(x)) return NaN;
  if (x < SWITCH) return 1 - erf(x);
  if (x > 28) return 0;
  // x + (1/2) / (x + 1 / (x + (3/2) / (x + ...))), from the end, which is far enough out for x >= 1.
  let fraction = x;
  for (let n = 240; n > 0; n--) fraction = x + n / 2 / fraction;
  return expMinusSquare(x) / (Math.sqrt(Math.PI) * fraction);
}

/** exp(-x^2) with the rounding of the square put right: a float32 squared is exact in float64. */
function expMinusSquare(x: number): number {
  const head = Math.fround(x);
  return Math.exp(-head * head) * Math.exp(-(x - head) * (x + head));
}
