/**
 * Bessel function of the first kind of integer order, for real x. Miller's backward recurrence
 * (Abramowitz and Stegun 9.12) or, far out, Hankel's expansion (9.2.5).
 */
export function besselJ(order: number, x: number): number {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? NaN : 0;
  const n = Math.abs(order);
  // J_-n(x) = J_n(-x) = (-1)^n J_n(x)
  const odd = n % 2 === 1 && order < 0 !== x < 0;
  const value = ofPositive(n, Math.abs(x));
  return odd ? -value : value;
}

type Four = [number, number, number, number];

function ofPositive(n: number, x: number): number {
  if (x < 1e-8) return leadingTerm(n, x);
  if (x > 30 && x > 2 * n * n) return hankel(n, x);
  const start = 2 * Math.ceil((Math.max(n, x) + 16 + 6 * Math.sqrt(Math.max(n, x))) / 2);
  let [above, here] = [0, 1e-300];
  let wanted = 0;
  let total = 0;
  for (let k = start; k >= 0; k--) {
    if (k === n) wanted = here;
    if (k % 2 === 0) total += k === 0 ? here : 2 * here;
    [above, here] = [here, (2 * k * here) / x - above];
    if (Math.abs(here) > 1e200) {
      // Rescaled before it overflows; what became 0 was too small to matter.
      [above, here, wanted, total] = [above, here, wanted, total].map((v) => v * 1e-200) as Four;
    }
  }
  return wanted / total;
}

/** (x / 2)^n / n!, which is all there is for tiny x: 2 k / x would be infinite. */
function leadingTerm(n: number, x: number): number {
  let term = 1;
  for (let k = 1; k <= n; k++) term *= x / (2 * k);
  return term;
}

function hankel(n: number, x: number): number {
  const mu = 4 * n * n;
  let [p, q, term] = [1, 0, 1];
  for (let k = 1; k < 60; k++) {
    const next = (term * (mu - (2 * k - 1) ** 2)) / (k * 8 * x);
    if (Math.abs(next) >= Math.abs(term) && k > n) break;
    term = next;
    const sign = k % 4 < 2 ? 1 : -1;
    if (k % 2 === 0) p += sign * term;
    else q += sign * term;
    if (Math.abs(term) < 1e-18) break;
  }
  // cos and sin of x - (2 n + 1) pi / 4 from those of x: a subtraction would cost digits of x.
  const [c, s] = [Math.cos(x), Math.sin(x)];
  const half = Math.SQRT1_2;
  const [cos, sin] = (
    [
      [half * (c + s), half * (s - c)],
      [half * (s - c), -half * (c + s)],
      [-half * (c + s), -half * (s - c)],
      [-half * (s - c), half * (c + s)],
    ] as const
  )[n % 4]!;
  return Math.sqrt(2 / (Math.PI * x)) * (p * cos - q * sin);
}

/**
 * Modified Bessel function of the second kind of real order, times `exp(logFactor)`; +inf at 0,
 * NaN below. For half-integer orders the closed form (Abramowitz and Stegun 10.2.15), else the
 * trapezoidal rule for the integral of exp(-x cosh t) cosh(order t), which converges exponentially.
 */
export function besselK(order: number, x: number, logFactor = 0): number {
  if (Number.isNaN(x) || x < 0) return NaN;
  if (x === 0) return Infinity;
  // far beyond what the factor could make up for
  if (x > 5e4) return 0;
  const nu = Math.abs(order);
  if (Number.isInteger(nu - 0.5) && nu < 30 && logFactor === 0) return halfInteger(nu - 0.5, x);
  const step = Math.min(1 / 8, 0.6 / Math.sqrt(x));
  let sum = 0;
  let peak = -Infinity;
  for (let k = 0; ; k++) {
    const t = k * step;
    // cosh t - 1 without cancellation, and without factors that leave the range
    const decay = t < 40 ? x * (2 * Math.sinh(t / 2) ** 2) : Math.exp(t + Math.log(x) - Math.LN2);
    const exponent = nu * t - decay;
    peak = Math.max(peak, exponent);
    const term = Math.exp(exponent + logFactor) + Math.exp(exponent - 2 * nu * t + logFactor);
    sum += k === 0 ? term / 2 : term;
    // The exponent only falls once x sinh t is above nu.
    if (exponent < peak - 45 && x * Math.sinh(t) > nu) break;
  }
  return ((sum * step) / 2) * Math.exp(-x);
}

function halfInteger(n: number, x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; k <= n; k++) {
    term *= ((n + k) * (n - k + 1)) / (k * 2 * x);
    sum += term;
  }
  return Math.sqrt(Math.PI / (2 * x)) * Math.exp(-x) * sum;
}
