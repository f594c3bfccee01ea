import type { MathOp } from '@mercer/formula';
import { besselJText } from './bessel-j-text.js';
import { besselKText, radialBesselKText } from './bessel-k-text.js';
import { type FunctionRule, type FunctionText, type Piece, doubleLiteral } from './pieces.js';
import { polygammaText } from './polygamma-text.js';
import { sinXDivXText } from './sinc-text.js';

const rule =
  (needs: readonly Piece[], body: string): FunctionRule =>
  () => ({ needs, body });

/** Never asked for: `expandFunctions` writes it in the scalar language. */
const expanded: FunctionRule = () => {
  throw new RangeError('cannot emit the function: it is written out in the scalar language.');
};

const ofOrder =
  (of: (order: number) => FunctionText): FunctionRule =>
  ([order = 0]) =>
    of(order);

/** Functions of double precision; floor and ceil are one instruction of the data type. */
export const FUNCTION_TEXTS: { readonly [K in Exclude<MathOp, 'floor' | 'ceil'>]: FunctionRule } = {
  sin: rule(['sinCos'], 'Wide s, c;\nsin_cos(x, s, c);\nreturn s;'),
  cos: rule(['sinCos'], 'Wide s, c;\nsin_cos(x, s, c);\nreturn c;'),
  tan: rule(['sinCos'], 'Wide s, c;\nsin_cos(x, s, c);\nreturn s / c;'),
  asin: rule(
    ['asinKernel'],
    `const Wide size = size_of(x);
Wide t;
const Wide more = asin_reduced(size, t);
const Wide far = (1.5707963267948966 - 2.0 * t) + (6.123233995736766e-17 - 2.0 * more);
return with_sign(size <= 0.5 ? t + more : far, x);`,
  ),
  acos: rule(
    ['asinKernel'],
    `const Wide size = size_of(x);
Wide t;
const Wide more = asin_reduced(size, t);
const Wide near = 1.5707963267948966 - (with_sign(t, x) + (with_sign(more, x) - 6.123233995736766e-17));
const Wide left = (3.141592653589793 - 2.0 * t) + (1.2246467991473532e-16 - 2.0 * more);
const Wide far = x < 0.0 ? left : 2.0 * (t + more);
return size <= 0.5 ? near : far;`,
  ),
  atan: rule(['bits', 'atanKernel'], 'return with_sign(atan_positive(size_of(x), wide(1.0)), x);'),
  atan2: rule(
    ['bits', 'atanKernel'],
    `Wide a = size_of(y), b = size_of(x);
// infinities, zeros and sizes at the ends of the range keep their ratio
const Mask both = (a == b) & ((a == WIDE_INFINITY) | (a == 0.0));
const Wide same = a == 0.0 ? wide(0.0) : wide(1.0);
a = both ? same : b == WIDE_INFINITY ? wide(0.0) : a;
b = (both | (b == WIDE_INFINITY)) ? wide(1.0) : b;
const Mask large = (a > 1e300) | (b > 1e300);
const Wide r = atan_positive(large ? a * 0.0625 : a, large ? b * 0.0625 : b);
const Wide left = (3.141592653589793 - r) + 1.2246467991473532e-16;
const Wide turned = bits_of(x) < 0 ? left : r;
return with_sign(y == y ? turned : y, y);`,
  ),
  sinh: rule(
    ['bits', 'exp', 'expm1'],
    `const Wide size = size_of(x), t = expm1_wide(size), half = exp_wide(size * 0.5, wide(0.0));
const Wide y = size > 40.0 ? half * 0.5 * half : 0.5 * (t + t / (t + 1.0));
return with_sign(y, x);`,
  ),
  cosh: rule(
    ['bits', 'exp'],
    `const Wide half = exp_wide(size_of(x) * 0.5, wide(0.0));
return half * 0.5 * half + 0.5 / (half * half);`,
  ),
  erf: rule(
    ['bits', 'erfKernel', 'erfcKernel'],
    `const Wide size = size_of(x);
return size < 1.0 ? erf_near(x) : with_sign(1.0 - erfc_far(size), x);`,
  ),
  erfc: rule(
    ['bits', 'erfKernel', 'erfcKernel'],
    `const Wide far = erfc_far(size_of(x));
return x >= 0.5 ? far : x > -1.0 ? 1.0 - erf_near(x) : 2.0 - far;`,
  ),
  log1p: rule(['log1p'], 'return log1p_wide(x);'),
  expm1: rule(['expm1'], 'return expm1_wide(x);'),
  softplus: rule(
    ['bits', 'exp', 'log1p'],
    `const Wide rest = log1p_wide(exp_wide(-size_of(x), wide(0.0)));
return x > 0.0 ? x + rest : rest;`,
  ),
  lgamma: rule(
    ['whole', 'sinPi', 'lgammaPositive'],
    `const Mask left = x <= 0.0;
const Wide value = lgamma_positive(left ? 1.0 - x : x);
Wide s, c;
sin_cos_pi(size_of(x - nearest(x)), s, c);
// Gamma(x) Gamma(1 - x) = pi / sin(pi x)
const Wide reflected = (1.1447298858494002 - log_wide(s)) - value;
const Mask pole = (s == 0.0) | (x == -WIDE_INFINITY);
return left ? (pole ? wide(WIDE_INFINITY) : reflected) : value;`,
  ),
  polygamma: ofOrder(polygammaText),
  round: ofOrder(roundText),
  sinXDivX: ofOrder(sinXDivXText),
  besselJ: ofOrder(besselJText),
  besselK: ofOrder((nu) => besselKText(Math.abs(nu))),
  radialBesselK: ofOrder(radialBesselKText),
  radialWendland: expanded,
  radialPower: expanded,
  radialLog: expanded,
  oneAtZero: expanded,
};

function roundText(decimals: number): FunctionText {
  const scale = doubleLiteral(10 ** decimals);
  return {
    needs: ['whole'],
    body: `const Wide size = size_of(x) * ${scale}, middle = nearest(size);
const Wide below = middle > size ? middle - 1.0 : middle;
const Wide rounded = with_sign((size - below >= 0.5 ? below + 1.0 : below) / ${scale}, x);
return size < 4503599627370496.0 ? rounded : x;`,
  };
}
