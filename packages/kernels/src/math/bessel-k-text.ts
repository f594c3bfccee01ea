import { type FunctionText, hornerText, doubleLiteral } from './pieces.js';
import { largeBesselK, temmeSeries, type Temme } from './bessel-k-series.js';

/** Up to here Temme's series, above it a Chebyshev series in 1 / z. */
const LIMIT = 1;

/** The modified Bessel function of the second kind of order `nu >= 0`, for x > 0. */
export function besselKText(nu: number): FunctionText {
  return {
    needs: ['exp', 'log'],
    body: `const Wide z = x;
${scaledText(nu)}
const Wide small = near * ${inversePower(nu)};
const Wide large = far * exp_wide(-z, wide(0.0)) / wide_sqrt(z);
const Wide value = z <= ${doubleLiteral(LIMIT)} ? small : z < 1e5 ? large : wide(0.0);
return z > 0.0 ? value : z == 0.0 ? wide(WIDE_INFINITY) : wide(WIDE_NAN);`,
  };
}

/** z^nu K_nu(z) at z = sqrt(x), for any real nu; at 0 its limit, or 0 where that is infinite. */
export function radialBesselKText(nu: number): FunctionText {
  const size = Math.abs(nu);
  const small = nu < 0 ? `near * ${inversePower(size)} * ${inversePower(size)}` : 'near';
  return {
    needs: ['exp', 'log'],
    body: `const Wide z = wide_sqrt(x);
${scaledText(size)}
const Wide small = ${small};
const Wide large = far * exp_wide(-z, wide(0.0)) * ${realPower('z', nu - 0.5)};
const Wide value = z <= ${doubleLiteral(LIMIT)} ? small : z < 1e5 ? large : wide(0.0);
return x > 0.0 ? value : x == 0.0 ? wide(${doubleLiteral(atZero(nu))}) : wide(WIDE_NAN);`,
  };
}

/** 2^(nu - 1) Gamma(nu) for nu > 0, else 0 by convention. */
export function atZero(nu: number): number {
  if (nu <= 0) return 0;
  const { mu, whole, p0 } = temmeSeries(nu);
  // half of 2^mu Gamma(1 + mu) is p0, and R_(k + 1) = 2 k R_k at 0 from k = 1 + mu on, where it is 2 p0
  if (whole === 0) return p0 / mu;
  let value = 2 * p0;
  for (let k = 1; k < whole; k++) value *= 2 * (mu + k);
  return value;
}

/** Text for z^c: by the logarithm of z, which is in scope, where c is no whole number. */
function realPower(z: string, c: number): string {
  return `exp_wide(${doubleLiteral(c)} * log_wide(${z}), wide(0.0))`;
}

/** Text for z^-nu, which leaves the range last: the fractional part, then one factor after the other. */
function inversePower(nu: number): string {
  const { mu, whole } = temmeSeries(nu);
  const factors = Array<string>(whole).fill('w');
  if (mu !== 0) factors.unshift(`exp_wide(${doubleLiteral(-mu)} * l, wide(0.0))`);
  return factors.length === 0 ? '1.0' : factors.join(' * ');
}

/**
 * Statements for `near` = z^nu K_nu(z), good for z <= 1, and `far` = sqrt(z) e^z K_nu(z), good for z >= 1:
 * both for nu = mu and mu + 1, |mu| <= 1/2, and upwards from there, where every term is positive.
 */
function scaledText(nu: number): string {
  const series = temmeSeries(nu);
  const { mu, whole } = series;
  const pair = whole > 0;
  const [large0, large1] = [largeBesselK(mu), largeBesselK(mu + 1)];
  return `const Wide l = log_wide(z), w = 1.0 / z, y = z * z * 0.25;
${temmeText(series)}
Wide near = ${combined(series.value)};
${clenshaw('far', large0)}
${
  pair
    ? `Wide near1 = 2.0 * ${combined(series.next)};
${clenshaw('far1', large1)}
for (int k = 1; k < ${whole}; k++) {
  const double twice = 2.0 * (${doubleLiteral(mu)} + k);
  const Wide near2 = twice * near1 + z * z * near, far2 = twice * w * far1 + far;
  near = near1; near1 = near2;
  far = far1; far1 = far2;
}
near = near1;
far = far1;`
    : ''
}`;
}

/** Statements for z^mu f_0 (`f`) and z^mu q_0 (`q`) of Temme's series; z^mu p_0 is a number. */
function temmeText({ mu, q0, gamma1, gamma2, reflection }: Temme): string {
  // ln(2 / z)
  const logarithm = '(0.6931471805599453 - l)';
  if (mu === 0) {
    return `const Wide f = ${doubleLiteral(gamma1)} + ${logarithm}, q = wide(${doubleLiteral(q0)});`;
  }
  return `const Wide power = exp_wide(${doubleLiteral(mu)} * l, wide(0.0)), power2 = power * power;
const Wide sigma = ${doubleLiteral(mu)} * ${logarithm}, sigma2 = sigma * sigma;
const Wide up = wide(${doubleLiteral(2 ** mu)}), down = ${doubleLiteral(2 ** -mu)} * power2;
// z^mu sinh(sigma) / sigma
const Wide slope = sigma2 < 0.25 ? power * ${hornerText(SINH, 'sigma2')} : 0.5 * (up - down) / sigma;
const Wide f = ${doubleLiteral(reflection)} * (${doubleLiteral(gamma1)} * 0.5 * (up + down) + ${doubleLiteral(gamma2)} * ${logarithm} * slope);
const Wide q = ${doubleLiteral(q0)} * power2;`;
}

/** sinh(x) / x in powers of x^2. */
export const SINH = Array.from({ length: 9 }, (_, k) => {
  let factorial = 1;
  for (let m = 2; m <= 2 * k + 1; m++) factorial *= m;
  return 1 / factorial;
});

/** f, p_0 and q with a polynomial in y each. */
function combined([ofF, ofP, ofQ]: Temme['value']): string {
  return `(f * ${hornerText(ofF, 'y')} + (${hornerText(ofP, 'y')} + q * ${hornerText(ofQ, 'y')}))`;
}

/** Clenshaw's scheme for a Chebyshev series in 2 / z - 1. */
function clenshaw(name: string, coefficients: readonly number[]): string {
  const [first = 0, ...rest] = coefficients;
  const steps = rest
    .reverse()
    .map((c) => `b0 = (t2 * b1 - b2) + ${doubleLiteral(c)}; b2 = b1; b1 = b0;`);
  return `Wide ${name};
{
  const Wide t2 = 4.0 * w - 2.0;
  Wide b0, b1 = wide(0.0), b2 = wide(0.0);
  ${steps.join('\n  ')}
  ${name} = (0.5 * t2 * b1 - b2) + ${doubleLiteral(first)};
}`;
}
