import type { OperatorName } from './operators.js';

/** What an elementwise operation means, in float64 and JavaScript's own arithmetic. Truths are 1 and 0. */
export interface Meaning {
  readonly value: (...operands: readonly number[]) => number;
  /**
   * How far off it may be, in u of `size`: [computed in float32, in float64], where u is 2^-24 and 2^-53. Left out: the value rounded
   * once, the sign of zero included. The bounds are those of `packages/kernels/README.md` (the larger of CPU and GPU), those for float64
   * with 2 u for the oracle; composed operations add theirs up.
   */
  readonly bound?: readonly [float32: number, float64: number];
  /** What the bound counts. Default: the magnitude of the value. */
  readonly size?: (value: number, ...operands: readonly number[]) => number;
  /** Of a value found from the one wanted. Default: the magnitude of their difference. */
  readonly distance?: (found: number, wanted: number, ...operands: readonly number[]) => number;
  /** A zero may have either sign. */
  readonly anyZero?: true;
}

const { PI, SQRT1_2, abs, exp, floor, log } = Math;
const { isNaN } = Number;
const truth = (holds: boolean): number => Number(holds);

/** `2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...)`, Abramowitz and Stegun 7.1.6: all terms have one sign. */
function erfBySeries(x: number): number {
  let [term, total] = [x, x];
  for (let n = 1; n < 200; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    total += term;
  }
  return (2 / Math.sqrt(PI)) * exp(-x * x) * total;
}

/** The continued fraction of Abramowitz and Stegun 7.1.14, for x of 1/2 and more. */
function erfcByFraction(x: number): number {
  let below = x;
  for (let k = 2000; k >= 1; k--) below = x + k / 2 / below;
  return exp(-x * x) / (Math.sqrt(PI) * below);
}

function erfc(x: number): number {
  if (x < 0.5) return 1 - erf(x);
  return x > 30 ? 0 : erfcByFraction(x);
}

function erf(x: number): number {
  if (isNaN(x) || x === 0) return x;
  if (abs(x) < 2) return erfBySeries(x);
  return Math.sign(x) * (1 - erfc(abs(x)));
}

/** zeta(k) - 1: a sum, and Euler and Maclaurin's formula behind its end. */
function zetaLessOne(k: number): number {
  const end = 60;
  let total = end ** (1 - k) / (k - 1) - end ** -k / 2 + (k * end ** (-k - 1)) / 12;
  total -= (k * (k + 1) * (k + 2) * end ** (-k - 3)) / 720;
  total += (k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * end ** (-k - 5)) / 30240;
  for (let n = end; n >= 2; n--) total += n ** -k;
  return total;
}

const ZETA_LESS_ONE = Array.from({ length: 80 }, (_, k) => (k < 2 ? 0 : zetaLessOne(k)));
const EULER = 0.5772156649015329;

/** Abramowitz and Stegun 6.1.33 around 2, the recurrence down to 0, Stirling's series 6.1.41 behind 20, and reflection below 0. */
function lgamma(x: number): number {
  if (isNaN(x)) return NaN;
  if (abs(x) === Infinity || (Number.isInteger(x) && x <= 0)) return Infinity;
  if (x < 0) return log(PI / abs(sinPi(x))) - lgamma(1 - x);
  if (x < 1) return lgamma(x + 1) - log(x);
  if (x === 1 || x === 2) return 0;
  if (x <= 3) {
    const z = x - 2;
    return ZETA_LESS_ONE.reduceRight(
      (sum, one, k) => sum + (k < 2 ? 0 : (one * (-z) ** k) / k),
      z * (1 - EULER),
    );
  }
  let [at, product] = [x, 1];
  for (; at < 20; at++) product *= at;
  const inverse = 1 / at;
  const square = inverse * inverse;
  const tail = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)));
  return (at - 0.5) * log(at) - at + 0.5 * log(2 * PI) + tail - log(product);
}

/** Of the distance from the nearest whole number, which is exact. */
const sinPi = (x: number): number => Math.sin(PI * (x - Math.round(x)));

/** IEEE 754: 1 for the base 1 and for the exponent 0, also of NaN, and for -1 to an infinite power. */
function pow(x: number, y: number): number {
  return x === 1 || (x === -1 && abs(y) === Infinity) ? 1 : x ** y;
}

function round(x: number): number {
  const below = floor(x);
  const rest = x - below;
  if (!(abs(x) < 2 ** 52) || rest === 0) return x;
  const nearest = rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
  return nearest === 0 && x < 0 ? -0 : nearest;
}

/** The remainder of JavaScript, which is exact, with the sign of the divisor. */
function mod(x: number, y: number): number {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

/** `x Phi(x)` with the normal distribution's tail from erfc, so that it is right where it is small. */
const gelu = (x: number): number => x * 0.5 * erfc(-x * SQRT1_2);

const least = (x: number, y: number): number => (isNaN(x) || isNaN(y) ? NaN : Math.min(x, y));
const most = (x: number, y: number): number => (isNaN(x) || isNaN(y) ? NaN : Math.max(x, y));

/** Of every entry of `OPERATORS`; the compiler asks for one that is missing. */
export const MEANINGS: Readonly<Record<OperatorName, Meaning>> = {
  add: { value: (x, y) => x + y },
  sub: { value: (x, y) => x - y },
  mul: { value: (x, y) => x * y },
  div: { value: (x, y) => x / y },
  mod: {
    value: mod,
    // the quotient, the product and the difference are each rounded
    bound: [4, 4],
    size: (_, x, y) => abs(x) + abs(y),
    // a remainder just below the divisor and one just above 0 are neighbours
    distance: (found, wanted, x, y) =>
      // a quotient that overflows leaves no remainder
      abs(x / y) > 1e38 ? 0 : Math.min(abs(found - wanted), abs(abs(found - wanted) - abs(y))),
    anyZero: true,
  },
  pow: {
    value: pow,
    bound: [6, 8],
    size: (value, x, y) => (value === 0 ? 0 : abs(value) * (1 + abs(y * Math.log2(abs(x))) / 4)),
    // a zero that is raised has no sign of its own
    distance: (found, wanted, x) => (x === 0 ? abs(abs(found) - abs(wanted)) : abs(found - wanted)),
    anyZero: true,
  },
  minimum: { value: least, anyZero: true },
  maximum: { value: most, anyZero: true },
  atan2: { value: Math.atan2, bound: [6, 6] },
  neg: { value: (x) => -x },
  abs: { value: abs },
  sign: { value: Math.sign, anyZero: true },
  square: { value: (x) => x * x },
  relu: { value: (x) => most(x, 0), anyZero: true },
  floor: { value: floor },
  ceil: { value: Math.ceil },
  round: { value: round },
  reciprocal: { value: (x) => 1 / x },
  exp: { value: exp, bound: [4, 6], size: (value, x) => value * (1 + abs(x) / 2) },
  expm1: { value: Math.expm1, bound: [4, 6] },
  log: { value: log, bound: [4, 6] },
  log2: { value: Math.log2, bound: [6, 8] },
  log10: { value: Math.log10, bound: [6, 8] },
  log1p: { value: Math.log1p, bound: [4, 6] },
  sqrt: { value: Math.sqrt, bound: [2, 2] },
  rsqrt: { value: (x) => (x === 0 ? 0 : 1 / Math.sqrt(x)), bound: [4, 4] },
  sin: { value: Math.sin, bound: [4, 6] },
  cos: { value: Math.cos, bound: [4, 6] },
  tan: { value: Math.tan, bound: [8, 6] },
  asin: { value: Math.asin, bound: [8, 6] },
  acos: { value: Math.acos, bound: [8, 6] },
  atan: { value: Math.atan, bound: [4, 6] },
  sinh: { value: Math.sinh, bound: [6, 6] },
  cosh: { value: Math.cosh, bound: [4, 6] },
  tanh: { value: Math.tanh, bound: [6, 8] },
  // the oracle's series and fractions lose some 20 u
  erf: { value: erf, bound: [6, 26] },
  erfc: { value: erfc, bound: [12, 30], size: (value, x) => value * (1 + (x > 0 ? x * x : 0)) },
  lgamma: {
    value: lgamma,
    bound: [6, 32],
    // below 0 there are zeros between the poles
    size: (value, x) => abs(value) + (x < 0 ? 1 + lgamma(1 - x) : 0),
  },
  // e^-x, of which the size is 1 + |x| / 4 in the denominator; a sum and a quotient
  sigmoid: {
    value: (x) => 1 / (1 + exp(-x)),
    bound: [8, 10],
    size: (value, x) => value * (1 + abs(x) / 4),
  },
  softplus: {
    value: (x) => most(x, 0) + Math.log1p(exp(-abs(x))),
    bound: [8, 10],
    size: (value, x) => value * (1 + (x < 0 ? abs(x) / 4 : 0)),
  },
  // 1 + erf cancels below 0
  gelu: { value: gelu, bound: [8, 30], size: (_, x) => abs(x) },
  eq: { value: (x, y) => truth(x === y) },
  ne: { value: (x, y) => truth(x !== y) },
  lt: { value: (x, y) => truth(x < y) },
  le: { value: (x, y) => truth(x <= y) },
  gt: { value: (x, y) => truth(x > y) },
  ge: { value: (x, y) => truth(x >= y) },
  logicalAnd: { value: (x, y) => truth(x !== 0 && y !== 0) },
  logicalOr: { value: (x, y) => truth(x !== 0 || y !== 0) },
  logicalXor: { value: (x, y) => truth((x !== 0) !== (y !== 0)) },
  logicalNot: { value: (x) => truth(x === 0) },
  isNaN: { value: (x) => truth(isNaN(x)) },
  isFinite: { value: (x) => truth(Number.isFinite(x)) },
  isInfinite: { value: (x) => truth(abs(x) === Infinity) },
  where: { value: (condition, x, y) => (condition !== 0 ? x : y) },
};
