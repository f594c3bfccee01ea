/*
 * The quantile of the standard normal distribution by sums, products, quotients and square roots of float64 alone, which IEEE 754 rounds
 * correctly: each device has the same bits, as long as it does not fuse products and sums.
 */

type Coefficients = readonly number[];

/*
 * Rational approximations of Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988): PPND16,
 * constant term first.
 */
const CENTRE: readonly [Coefficients, Coefficients] = [
  [
    3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
    45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727,
  ],
  [
    1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
    39307.89580009271061, 28729.085735721942674, 5226.495278852854561,
  ],
];
const MIDDLE: readonly [Coefficients, Coefficients] = [
  [
    1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
    1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833,
    7.7454501427834140764e-4,
  ],
  [
    1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
    0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
    1.05075007164441684324e-9,
  ],
];
const TAIL: readonly [Coefficients, Coefficients] = [
  [
    6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
    0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5,
    2.01033439929228813265e-7,
  ],
  [
    1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
    7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
    2.04426310338993978564e-15,
  ],
];

function horner(x: number, coefficients: Coefficients): number {
  let sum = coefficients[7] ?? 0;
  for (let k = 6; k >= 0; k--) sum = sum * x + (coefficients[k] ?? 0);
  return sum;
}

const ratio = (x: number, [above, below]: readonly [Coefficients, Coefficients]): number =>
  horner(x, above) / horner(x, below);

const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);
/** Where the upper word of a float64 is. */
const UPPER = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;

/** 1, 1/3, 1/5, ...: of the series below, in which the next term would be below 2^-60 of the sum. */
const SERIES = Array.from({ length: 12 }, (_, k) => 1 / (2 * k + 1));

/** `-log(x)` of a normal number below 1: x is m 2^e with m from 1/sqrt(2) on, and log m = 2 artanh((m - 1) / (m + 1)). */
function minusLog(x: number): number {
  float[0] = x;
  const upper = words[UPPER] ?? 0;
  let exponent = (upper >>> 20) - 1022;
  words[UPPER] = (upper & 0xfffff) | (1022 << 20);
  let m = float[0];
  if (m < Math.SQRT1_2) {
    m *= 2;
    exponent -= 1;
  }
  const s = (m - 1) / (m + 1);
  const square = s * s;
  let sum = 0;
  for (let k = SERIES.length - 1; k >= 0; k--) sum = sum * square + (SERIES[k] ?? 0);
  return -(exponent * Math.LN2 + 2 * s * sum);
}

/**
 * How far the median is from the point below which the share `tail` lies: positive, and exact to 2^-50 of itself.
 *
 * @param tail above 0 and below 1/2
 */
export function normalQuantile(tail: number): number {
  const q = 0.5 - tail;
  if (q <= 0.425) return q * ratio(0.180625 - q * q, CENTRE);
  const r = Math.sqrt(minusLog(tail));
  return r <= 5 ? ratio(r - 1.6, MIDDLE) : ratio(r - 5, TAIL);
}
