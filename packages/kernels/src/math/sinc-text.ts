import { type FunctionText, hornerText, doubleLiteral } from './pieces.js';

/** Terms of the series that matter up to its limit. */
const SMALLEST_TERM = 1e-19;

/**
 * Derivative `n` of sin(x) / x: its series near 0, else x f = sin x differentiated n times,
 * x f^(n) + n f^(n-1) = sin^(n). Either loses digits towards the other's side; they meet where both lose least.
 */
export function sinXDivXText(n: number): FunctionText {
  const limit = Math.max(1, 0.45 * n);
  const steps = Array.from({ length: n }, (_, k) => {
    const derivative = k + 1;
    const sine = `${derivative % 4 < 2 ? '' : '-'}${derivative % 2 === 0 ? 's' : 'c'}`;
    return `y = (${sine} - ${doubleLiteral(derivative)} * y) / x;`;
  });
  return {
    needs: ['bits', 'sinCos'],
    body: `Wide s, c;
sin_cos(x, s, c);
Wide y = s / x;
${steps.join('\n')}
const Wide z = x * x;
const Wide series = ${n % 2 === 0 ? '' : 'x * '}${hornerText(series(n, limit), 'z')};
y = size_of(x) == WIDE_INFINITY ? wide(0.0) : y;
return size_of(x) < ${doubleLiteral(limit)} ? series : y;`,
  };
}

/** The sum of (-1)^k x^(2k) / (2k + 1)! differentiated n times, in powers of x^2, less an x where n is odd. */
function series(n: number, limit: number): number[] {
  const first = Math.ceil(n / 2);
  const coefficients: number[] = [];
  for (let k = first; ; k++) {
    let factorial = 1;
    for (let m = 2; m <= 2 * k - n; m++) factorial *= m;
    const size = 1 / ((2 * k + 1) * factorial);
    coefficients.push(k % 2 === 0 ? size : -size);
    if (size * limit ** (2 * k - n) < SMALLEST_TERM) return coefficients;
  }
}
