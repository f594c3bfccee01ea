/** Bernoulli numbers B2, B4, ... */
const BERNOULLI = [
  1 / 6,
  -1 / 30,
  1 / 42,
  -1 / 30,
  5 / 66,
  -691 / 2730,
  7 / 6,
  -3617 / 510,
  43867 / 798,
  -174611 / 330,
] as const;

const EULER = 0.577_215_664_901_532_9;
/** Terms of the series around 2, each smaller than a quarter of the one before. */
const SERIES_TERMS = 32;

/** zeta(k) - 1 for k = 2, 3, ...: a sum and its Euler-Maclaurin rest. */
const ZETA_MINUS_1: readonly number[] = Array.from({ length: SERIES_TERMS }, (_, at) => {
  const k = at + 2;
  const last = 200;
  let tail = last ** (1 - k) / (k - 1) - 0.5 * last ** -k + (k / 12) * last ** (-k - 1);
  tail -= ((k * (k + 1) * (k + 2)) / 720) * last ** (-k - 3);
  let sum = tail;
  for (let n = last; n >= 2; n--) sum += n ** -k;
  return sum;
});

/** log |Gamma(x)|; +inf at 0, -1, -2, ... Abramowitz and Stegun 6.1.33, 6.1.40, 6.1.17. */
export function lgamma(x: number): number {
  if (Number.isNaN(x)) return NaN;
  if (!Number.isFinite(x)) return Infinity;
  if (x <= 0) {
    if (Number.isInteger(x)) return Infinity;
    return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * fraction(x)))) - lgamma(1 - x);
  }
  if (x < 0.5) return lgamma(x + 1) - Math.log(x);
  // Around the zeros at 1 and 2, so that the relative error stays small.
  if (x < 1.5) return aroundTwo(x - 1) - Math.log1p(x - 1);
  if (x < 2.5) return aroundTwo(x - 2);
  let product = 1;
  let y = x;
  for (; y < 10; y++) product *= y;
  let rest = 0;
  for (const [at, b] of BERNOULLI.entries()) {
    const k = at + 1;
    rest += b / (2 * k * (2 * k - 1) * y ** (2 * k - 1));
  }
  return (y - 0.5) * Math.log(y) - y + 0.5 * Math.log(2 * Math.PI) + rest - Math.log(product);
}

/** log Gamma(2 + z), |z| <= 1/2. */
function aroundTwo(z: number): number {
  let sum = 0;
  for (let k = SERIES_TERMS + 1; k >= 2; k--) {
    sum = ZETA_MINUS_1[k - 2]! / k - z * sum;
  }
  return z * (1 - EULER) + z * z * sum;
}

/**
 * Derivative number `order + 1` of log Gamma: digamma for order 0. NaN at 0, -1, -2, ...
 * Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.11.
 */
export function polygamma(order: number, x: number): number {
  if (Number.isNaN(x) || x === -Infinity || (x <= 0 && Number.isInteger(x))) return NaN;
  if (x === Infinity) return order === 0 ? Infinity : 0;
  const sign = order % 2 === 0 ? -1 : 1;
  if (x < 0) {
    // psi_n(1 - x) + (-1)^(n+1) psi_n(x) = (-1)^n pi d^n/dx^n cot(pi x)
    const cot = cotangentDerivative(order, x);
    return sign * (-sign * Math.PI * cot - polygamma(order, 1 - x));
  }
  let y = x;
  const shifted: number[] = [];
  for (; y < 20 + order; y++) shifted.push(y);
  let sum = order === 0 ? Math.log(y) - 0.5 / y : 0;
  if (order > 0)
    sum = factorial(order - 1) / y ** order + factorial(order) / (2 * y ** (order + 1));
  for (let k = 1; k <= BERNOULLI.length; k++) {
    const ratio = order === 0 ? -1 / (2 * k) : factorial(2 * k + order - 1) / factorial(2 * k);
    sum += (BERNOULLI[k - 1]! * ratio) / y ** (2 * k + order);
  }
  if (order > 0) sum *= sign;
  for (const at of shifted.reverse()) sum += (sign * factorial(order)) / at ** (order + 1);
  return sum;
}

/** d^n/dx^n cot(pi x): a polynomial in the cotangent c, since c' = -pi (1 + c^2). */
function cotangentDerivative(order: number, x: number): number {
  let coefficients = [0, 1];
  for (let n = 0; n < order; n++) {
    const next = new Array<number>(coefficients.length + 1).fill(0);
    for (let k = 1; k < coefficients.length; k++) {
      next[k - 1]! -= k * coefficients[k]!;
      next[k + 1]! -= k * coefficients[k]!;
    }
    coefficients = next;
  }
  const cot = cotangentOfPi(fraction(x));
  return Math.PI ** order * coefficients.reduceRight((sum, c) => sum * cot + c);
}

/** cot(pi f), |f| <= 1/2: exactly 0 at 1/2, where large factors meet it. */
function cotangentOfPi(f: number): number {
  const size = Math.abs(f);
  const cot = size > 0.25 ? Math.tan(Math.PI * (0.5 - size)) : 1 / Math.tan(Math.PI * size);
  return f < 0 ? -cot : cot;
}

/** x less the nearest integer: sines of multiples of pi keep their accuracy. */
const fraction = (x: number): number => x - Math.round(x);

function factorial(n: number): number {
  let product = 1;
  for (let k = 2; k <= n; k++) product *= k;
  return product;
}

/** Gamma(x) for x > 0. */
export function gamma(x: number): number {
  if (Number.isInteger(x) && x < 171) return factorial(x - 1);
  return Math.exp(lgamma(x));
}
