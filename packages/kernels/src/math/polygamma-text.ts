import { type FunctionText, hornerText, doubleLiteral } from './pieces.js';

/** Terms of the asymptotic series. */
const TERMS = 10;

/**
 * Derivative `n + 1` of log Gamma: the recurrence up to 10 + n and the asymptotic series there, the
 * reflection below 0. Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.11.
 */
export function polygammaText(n: number): FunctionText {
  const least = 10 + n;
  const sign = n % 2 === 0 ? -1 : 1;
  const tail = Array.from({ length: TERMS }, (_, at) => tailCoefficient(n, at + 1));
  const leading =
    n === 0
      ? 'const Wide series = (w * (0.5 + w * rest)) - log_wide(y);'
      : `const Wide series = ${powerText('w', n)} * (${doubleLiteral(factorial(n - 1))} + w * (${doubleLiteral(factorial(n) / 2)} + w * rest));`;
  return {
    needs: ['whole', 'sinPi', 'log'],
    body: `const Mask left = x <= 0.0;
const Wide start = left ? 1.0 - x : x;
Wide steps = wide(0.0), sum = wide(0.0);
for (int k = 0; k < ${least}; k++) {
  const Wide at = start + steps;
  const Mask below = at < ${doubleLiteral(least)};
  const Wide w = 1.0 / at;
  sum = below ? sum + ${powerText('w', n + 1)} : sum;
  steps = below ? steps + 1.0 : steps;
}
const Wide y = start + steps, w = 1.0 / y, w2 = w * w;
const Wide rest = ${hornerText(tail, 'w2')};
${leading}
const Wide value = ${sign < 0 ? '-' : ''}(sum * ${doubleLiteral(factorial(n))} + series);
Wide s, c;
const Wide f = x - nearest(x);
sin_cos_pi(size_of(f), s, c);
const Wide cot = with_sign(c / s, f);
const Wide reflected = ${doubleLiteral(-(Math.PI ** (n + 1)))} * ${hornerText(cotangentDerivative(n), 'cot')} ${sign < 0 ? '+' : '-'} value;
const Mask pole = left & ((f == 0.0) | (x == -WIDE_INFINITY));
return pole ? wide(WIDE_NAN) : left ? reflected : value;`,
  };
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

/** `x^n` as a product. */
const powerText = (x: string, n: number): string => Array<string>(n).fill(x).join(' * ');

/** B_2k (2k + n - 1)! / (2k)!, where digamma has B_2k / (2k); without its sign. */
function tailCoefficient(n: number, k: number): number {
  let ratio = 1;
  for (let m = 2 * k + 1; m < 2 * k + n; m++) ratio *= m;
  return bernoulli(k) * (n === 0 ? 1 / (2 * k) : ratio);
}

/** B_2k by the tangent numbers, which are whole (Brent and Harvey, Computing and Visualization 2011). */
function bernoulli(k: number): number {
  const tangent = [0, 1];
  for (let n = 2; n <= k; n++) tangent[n] = (n - 1) * tangent[n - 1]!;
  for (let n = 2; n <= k; n++) {
    for (let m = n; m <= k; m++) tangent[m] = (m - n) * tangent[m - 1]! + (m - n + 2) * tangent[m]!;
  }
  return ((k % 2 === 0 ? -2 : 2) * k * tangent[k]!) / (4 ** k * (4 ** k - 1));
}

/** d^n/dx^n cot(pi x) / pi^n as a polynomial in the cotangent c, since c' = -pi (1 + c^2). */
function cotangentDerivative(order: number): number[] {
  let coefficients = [0, 1];
  for (let n = 0; n < order; n++) {
    const next = new Array<number>(coefficients.length + 1).fill(0);
    coefficients.forEach((value, k) => {
      if (k === 0) return;
      next[k - 1] = (next[k - 1] ?? 0) - k * value;
      next[k + 1] = (next[k + 1] ?? 0) - k * value;
    });
    coefficients = next;
  }
  return coefficients;
}
