/** Temme's series of an order: numbers that depend on the order alone. */
export interface Temme {
  /** nu = mu + whole, |mu| <= 1/2. */
  readonly mu: number;
  readonly whole: number;
  /** z^mu p_0, and z^-mu q_0, with p_0 and q_0 of the series. */
  readonly p0: number;
  readonly q0: number;
  readonly gamma1: number;
  readonly gamma2: number;
  /** pi mu / sin(pi mu) */
  readonly reflection: number;
  /** K_mu z^mu as polynomials in z^2 / 4 that multiply f_0, 1 (p_0 is in it) and q_0. */
  readonly value: Polynomials;
  /** K_(mu + 1) z^(mu + 1) / 2 likewise. */
  readonly next: Polynomials;
}

type Polynomials = readonly [f: readonly number[], p: readonly number[], q: readonly number[]];

/** Terms of a series in z^2 / 4 <= 1/4. */
const TERMS = 12;

/** N. M. Temme, J. Comput. Phys. 19 (1975): K of an order up to 1/2 and of the next, for small z. */
export function temmeSeries(nu: number): Temme {
  const whole = Math.floor(nu + 0.5);
  const mu = nu - whole;
  const [plus, minus] = [reciprocalGamma(mu), reciprocalGamma(-mu)];
  const p0 = (0.5 * 2 ** mu) / plus;
  const q0 = (0.5 * 2 ** -mu) / minus;
  // f_k, p_k and q_k as sums of f_0, p_0 and q_0
  let f = [1, 0, 0];
  let [p, q] = [1, 1];
  let factorial = 1;
  const value: [number[], number[], number[]] = [[], [], []];
  const next: [number[], number[], number[]] = [[], [], []];
  for (let k = 0; k < TERMS; k++) {
    if (k > 0) {
      f = f.map((part, n) => (k * part + [0, p, q][n]!) / (k * k - mu * mu));
      p /= k - mu;
      q /= k + mu;
      factorial *= k;
    }
    const h = f.map((part, n) => (n === 1 ? p : 0) - k * part);
    for (const n of [0, 1, 2] as const) {
      const scale = n === 1 ? p0 : 1;
      value[n].push((scale * f[n]!) / factorial);
      next[n].push((scale * h[n]!) / factorial);
    }
  }
  return {
    mu,
    whole,
    p0,
    q0,
    value,
    next,
    gamma1: firstGamma(mu),
    gamma2: (minus + plus) / 2,
    reflection: mu === 0 ? 1 : (Math.PI * mu) / Math.sin(Math.PI * mu),
  };
}

/** Coefficients of 1 / Gamma(1 + z), lowest power first (Abramowitz and Stegun 6.1.34). */
const RECIPROCAL_GAMMA: readonly number[] = [
  1.0, 0.5772156649015329, -0.6558780715202539, -0.04200263503409524, 0.16653861138229148,
  -0.04219773455554433, -0.009621971527876973, 0.0072189432466631, -0.0011651675918590652,
  -0.00021524167411495098, 0.0001280502823881162, -2.013485478078824e-5, -1.2504934821426706e-6,
  1.133027231981696e-6, -2.056338416977607e-7, 6.116095104481416e-9, 5.002007644469223e-9,
  -1.18127457048702e-9, 1.0434267116911005e-10, 7.782263439905071e-12, -3.696805618642206e-12,
  5.100370287454476e-13, -2.0583260535665066e-14, -5.348122539423018e-15, 1.2267786282382608e-15,
  -1.1812593016974588e-16, 1.1866922547516004e-18,
];

/** 1 / Gamma(1 + z), |z| <= 1/2 */
function reciprocalGamma(z: number): number {
  return RECIPROCAL_GAMMA.reduceRight((sum, c) => sum * z + c, 0);
}

/** (1 / Gamma(1 - mu) - 1 / Gamma(1 + mu)) / (2 mu), without the subtraction. */
function firstGamma(mu: number): number {
  let sum = 0;
  for (let k = RECIPROCAL_GAMMA.length - 1; k >= 1; k--) {
    if (k % 2 === 1) sum = sum * mu * mu - RECIPROCAL_GAMMA[k]!;
  }
  return sum;
}

/** Coefficients of the Chebyshev series, and nodes that they are found at. */
const LENGTH = 34;
const NODES = 48;

/** sqrt(z) e^z K_nu(z) for z >= 1 as a Chebyshev series in 2 / z - 1, constant first. */
export function largeBesselK(nu: number): number[] {
  const values = Array.from({ length: NODES }, (_, j) =>
    scaledIntegral(nu, 2 / (cosine(2 * j + 1) + 1)),
  );
  return Array.from({ length: LENGTH }, (_, k) => {
    const sum = values.reduce((total, value, j) => total + value * cosine(k * (2 * j + 1)), 0);
    return ((k === 0 ? 1 : 2) * sum) / NODES;
  });
}

/** cos(pi m / (2 NODES)), with the angle brought between 0 and pi / 2 in whole numbers. */
function cosine(m: number): number {
  const turn = m % (4 * NODES);
  const half = turn > 2 * NODES ? 4 * NODES - turn : turn;
  const angle = (n: number): number => Math.cos((Math.PI * n) / (2 * NODES));
  return half > NODES ? -angle(2 * NODES - half) : angle(half);
}

/**
 * The integral of exp(-z cosh t) cosh(nu t), scaled, with z (cosh t - 1) = v^2, by the trapezoidal rule,
 * which converges exponentially (Abramowitz and Stegun 9.6.24).
 */
function scaledIntegral(nu: number, z: number): number {
  const step = 0.2;
  const width = Math.sqrt(2 * z);
  let sum = 0;
  for (let k = 32; k >= 0; k--) {
    const v = k * step;
    const t = 2 * Math.asinh(v / width);
    const term = (Math.exp(-v * v) * Math.cosh(nu * t)) / Math.sqrt(1 + (v * v) / (2 * z));
    sum += k === 0 ? term / 2 : term;
  }
  return Math.SQRT2 * step * sum;
}
