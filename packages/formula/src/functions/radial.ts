import { besselK } from './bessel.js';
import { gamma } from './gamma.js';

/**
 * `z^nu K_nu(z)` at `z = sqrt(u)`: every Matérn kernel is a multiple of it. At `u = 0` its limit
 * `2^(nu-1) Gamma(nu)`, and 0 by convention where that is infinite (`nu <= 0`).
 * Its derivative by u is `-1/2` times the function of order `nu - 1` (Abramowitz and Stegun 9.6.28).
 */
export function radialBesselK(nu: number, u: number): number {
  if (u === 0) return nu > 0 ? 2 ** (nu - 1) * gamma(nu) : 0;
  if (u < 0 || Number.isNaN(u)) return NaN;
  if (u === Infinity) return 0;
  const z = Math.sqrt(u);
  const n = nu - 0.5;
  if (Number.isInteger(n) && n >= 0 && n < 30) {
    // sqrt(pi/2) exp(-z) sum of (n+k)! / (k! (n-k)!) 2^-k z^(n-k): no power of z is negative.
    let coefficient = 1;
    let sum = z ** n;
    for (let k = 1; k <= n; k++) {
      coefficient *= ((n + k) * (n - k + 1)) / (2 * k);
      sum += coefficient * z ** (n - k);
    }
    return Math.sqrt(Math.PI / 2) * Math.exp(-z) * sum;
  }
  if (Number.isInteger(n)) return z ** nu * besselK(nu, z);
  return besselK(nu, z, nu * Math.log(z));
}

/** One term `c r^-a (1 - r)^b`; a is not above 0 for k >= 0. */
export type WendlandTerm = readonly [c: number, a: number, b: number];

/**
 * Wendland's function of support radius 1 at `r = sqrt(s)`, not normalised: `(1 - r)^l`, integrated
 * `k` times by `f -> integral from r to 1 of t f(t)`, or for negative k differentiated by
 * `-(1/r) d/dr`; 0 for r >= 1, and 0 by convention at r = 0 for negative k.
 * Its derivative by s is `-1/2` times the function with `k - 1`. Wendland, Adv. Comput. Math. 4 (1995).
 */
export function radialWendland(l: number, k: number, s: number): number {
  if (s < 0 || Number.isNaN(s)) return NaN;
  if (s >= 1 || (s === 0 && k < 0)) return 0;
  const r = Math.sqrt(s);
  let sum = 0;
  for (const [c, a, b] of wendlandTerms(l, k)) sum += (c * (1 - r) ** b) / r ** a;
  return sum;
}

/** The integral from r to 1 of t f(t), by parts, so that no term is negative. */
function integrated([c, a, b]: WendlandTerm): WendlandTerm[] {
  const terms: WendlandTerm[] = [];
  let factor = c;
  for (let power = 1 - a; power >= 0; power--) {
    const top = b + 2 - a - power;
    factor /= top;
    terms.push([factor, -power, top]);
    factor *= power;
  }
  return terms;
}

function merged(terms: readonly WendlandTerm[]): WendlandTerm[] {
  const sums = new Map<string, WendlandTerm>();
  for (const [c, a, b] of terms) {
    const key = `${a} ${b}`;
    sums.set(key, [c + (sums.get(key)?.[0] ?? 0), a, b]);
  }
  return [...sums.values()];
}

/** The terms of Wendland's function `radialWendland(s, l, k)` at r = sqrt(s) < 1, none of them negative. */
export function wendlandTerms(l: number, k: number): readonly WendlandTerm[] {
  let terms: WendlandTerm[] = [[1, 0, l]];
  for (let n = 0; n < k; n++) terms = merged(terms.flatMap(integrated));
  for (let n = 0; n > k; n--) {
    terms = terms
      .flatMap(([c, a, b]): WendlandTerm[] => [
        [c * a, a + 2, b],
        [c * b, a + 1, b - 1],
      ])
      .filter(([c]) => c !== 0);
  }
  return terms;
}

/** `s^q`; at 0 the limit where it is finite, else 0 by convention. Derivative: `q s^(q-1)`. */
export function radialPower(q: number, s: number): number {
  return s === 0 && q < 0 ? 0 : s ** q;
}

/** `s^q log(s) / 2`, which is `r^2q log r`; 0 at 0, a convention for `q <= 0`. */
export function radialLog(q: number, s: number): number {
  return s === 0 ? 0 : s ** q * 0.5 * Math.log(s);
}

/**
 * A kernel value `f` of the squared distance `s` without what rounding does to it: exactly 1 at `s = 0`, and at most 1 elsewhere.
 * It means `f` where `f` is such a kernel, and has the derivatives of `f`.
 */
export function oneAtZero(f: number, s: number): number {
  return s === 0 ? 1 : Math.min(f, 1);
}
