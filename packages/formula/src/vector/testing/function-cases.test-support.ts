import type { OperationCase } from './operation-case.test-support.js';
import {
  besselJIntegral,
  besselKIntegral,
  integral,
  lgammaIntegral,
  polygammaIntegral,
} from './quadrature.test-support.js';

type Scalar = (x: number, y: number, z: number) => number;
type Range = readonly [low: number, high: number];

/** An elementwise operation on vectors of 3; the second and third argument may have dim 1. */
function each(text: string, f: Scalar, ranges: readonly Range[], tolerance = 1e-12): OperationCase {
  const dims = [3, text.includes('b') ? 3 : 1, 1];
  return {
    text,
    inputs: ranges.map(([low, high], k) => [dims[k]!, low, high]),
    oracle: (a, b = [0], c = [0]) =>
      a.map((x, k) => f(x, b[b.length === 1 ? 0 : k]!, c[c.length === 1 ? 0 : k]!)),
    tolerance,
  };
}

const ANY: Range = [-2, 2];
const POSITIVE: Range = [0.3, 2.5];
const PI = Math.PI;
const matern32 = (s: number, h: number): number => {
  const z = Math.sqrt(3 * s) / h;
  return (1 + z) * Math.exp(-z);
};
const wendland31 = (s: number, h: number): number => {
  const r = Math.sqrt(s) / h;
  return r >= 1 ? 0 : (1 - r) ** 4 * (4 * r + 1);
};

/** Elementwise operations. */
export const FUNCTION_CASES: readonly OperationCase[] = [
  each('Add(a, b)', (x, y) => x + y, [ANY, ANY]),
  each('Subtract(a, b)', (x, y) => x - y, [ANY, ANY]),
  each('Mult(a, b)', (x, y) => x * y, [ANY, ANY]),
  each('Divide(a, b)', (x, y) => x / y, [ANY, POSITIVE]),
  each('a + b', (x, y) => x + y, [ANY, ANY]),
  each('a - b', (x, y) => x - y, [ANY, ANY]),
  each('a * b', (x, y) => x * y, [ANY, ANY]),
  each('a / b', (x, y) => x / y, [ANY, POSITIVE]),
  each('Minus(a)', (x) => -x, [ANY]),
  each('Square(a)', (x) => x * x, [ANY]),
  each('Pow(a, 3)', (x) => x * x * x, [ANY]),
  each('Pow(a, 2)', (x) => x * x, [ANY]),
  each('Pow(a, -2)', (x) => 1 / (x * x), [POSITIVE]),
  each('a ** 2.5', (x) => x * x * Math.sqrt(x), [POSITIVE]),
  each('Powf(a, b)', (x, y) => Math.exp(y * Math.log(x)), [POSITIVE, ANY]),
  each('Inv(a)', (x) => 1 / x, [POSITIVE]),
  each('Sqrt(a)', (x) => Math.sqrt(x), [POSITIVE]),
  each('Rsqrt(a)', (x) => 1 / Math.sqrt(x), [POSITIVE]),
  each('Exp(a)', (x) => Math.exp(x), [ANY]),
  each('Log(a)', (x) => Math.log(x), [POSITIVE]),
  each('XLogX(a)', (x) => x * Math.log(x), [POSITIVE]),
  each('Abs(a)', (x) => Math.abs(x), [ANY]),
  each('Sign(a)', (x) => Math.sign(x), [ANY]),
  each('Step(a)', (x) => (x >= 0 ? 1 : 0), [ANY]),
  each('ReLU(a)', (x) => Math.max(x, 0), [ANY]),
  each('Sin(a)', (x) => Math.sin(x), [ANY]),
  each('Cos(a)', (x) => Math.cos(x), [ANY]),
  each('Tan(a)', (x) => Math.sin(x) / Math.cos(x), [[-1, 1]]),
  each('Asin(a)', (x) => Math.atan2(x, Math.sqrt(1 - x * x)), [[-0.7, 0.7]]),
  each('Acos(a)', (x) => Math.atan2(Math.sqrt(1 - x * x), x), [[-0.7, 0.7]]),
  each('Atan(a)', (x) => integral((t) => 1 / (1 + t * t), 0, x), [ANY]),
  each('Atan2(a, b)', (y, x) => 2 * Math.atan(y / (Math.hypot(x, y) + x)), [ANY, POSITIVE]),
  each('Sinh(a)', (x) => (Math.exp(x) - Math.exp(-x)) / 2, [ANY]),
  each('Cosh(a)', (x) => (Math.exp(x) + Math.exp(-x)) / 2, [ANY]),
  each('Tanh(a)', (x) => 1 - 2 / (Math.exp(2 * x) + 1), [ANY]),
  each('Logistic(a)', (x) => 1 / (1 + Math.exp(-x)), [ANY]),
  each('Softplus(a)', (x) => Math.log(1 + Math.exp(x)), [ANY]),
  each('LogAddExp(a, b)', (x, y) => Math.log(Math.exp(x) + Math.exp(y)), [ANY, ANY]),
  each('Log1p(a)', (x) => Math.log(1 + x), [POSITIVE]),
  each('Expm1(a)', (x) => Math.exp(x) - 1, [POSITIVE]),
  each('Erf(a)', (x) => (2 / Math.sqrt(PI)) * integral((t) => Math.exp(-t * t), 0, x), [ANY]),
  each(
    'Erfc(a)',
    (x) => (2 / Math.sqrt(PI)) * integral((t) => Math.exp(-t * t), x, 9),
    [ANY],
    1e-10,
  ),
  each('Lgamma(a)', lgammaIntegral, [[1.2, 3.5]], 1e-8),
  each('Polygamma(a, 1)', (x) => polygammaIntegral(1, x), [[1.2, 3.5]], 1e-8),
  each('Polygamma(a, 2)', (x) => polygammaIntegral(2, x), [[1.2, 3.5]], 1e-8),
  each('BesselJ(a, 0)', (x) => besselJIntegral(0, x), [ANY]),
  each('BesselJ(a, 2)', (x) => besselJIntegral(2, x), [ANY]),
  each('BesselK(a, 1.5)', (x) => besselKIntegral(1.5, x), [POSITIVE], 1e-10),
  each('BesselK(a, 0)', (x) => besselKIntegral(0, x), [POSITIVE], 1e-10),
  each('SinXDivX(a)', (x) => Math.sin(x) / x, [ANY]),
  each('SinXDivX(a, 2)', (x) => integral((t) => -t * t * Math.cos(x * t), 0, 1), [ANY]),
  each('Sinc(a)', (x) => Math.sin(PI * x) / (PI * x), [ANY]),
  each('Floor(a)', (x) => x - (((x % 1) + 1) % 1), [ANY]),
  each('Ceil(a)', (x) => x + (1 - ((x % 1) + 1)) + (x > 0 ? 1 : 0), [ANY]),
  each('Round(a, 1)', (x) => Number(x.toFixed(1)), [ANY]),
  each('Round(a)', (x) => Number(x.toFixed(0)), [ANY]),
  each('Minimum(a, b)', (x, y) => (x < y ? x : y), [ANY, ANY]),
  each('Maximum(a, b)', (x, y) => (x > y ? x : y), [ANY, ANY]),
  each('Mod(a, b)', (x, n) => ((x % n) + n) % n, [ANY, POSITIVE]),
  each('Mod(a, b, c)', (x, n, off) => off + ((((x - off) % n) + n) % n), [ANY, POSITIVE, ANY]),
  each('Clamp(a, b, c)', (x, lo, hi) => (x < lo ? lo : x > hi ? hi : x), [
    ANY,
    [-1, -0.2],
    [0.2, 1],
  ]),
  each('ClampInt(a, -1, 1)', (x) => Math.min(Math.max(x, -1), 1), [ANY]),
  each('DiffClampInt(a, -1, 1)', (x) => (Math.abs(x) <= 1 ? 1 : 0), [ANY]),
  each('IfElse(a, b, c)', (f, y, z) => (f >= 0 ? y : z), [ANY, ANY, ANY]),
  each('Where(a < b, a, b * b)', (x, y) => (x < y ? x : y * y), [ANY, ANY]),
  each('Equal(a, a)', () => 1, [ANY]),
  each('NotEqual(a, b)', (x, y) => (x === y ? 0 : 1), [ANY, ANY]),
  each('LessThan(a, b)', (x, y) => Number(x < y), [ANY, ANY]),
  each('LessOrEqual(a, b)', (x, y) => Number(x <= y), [ANY, ANY]),
  each('GreaterThan(a, b)', (x, y) => Number(x > y), [ANY, ANY]),
  each('GreaterOrEqual(a, b)', (x, y) => Number(x >= y), [ANY, ANY]),
  each('a * IntCst(3)', (x) => 3 * x, [ANY]),
  each('a * IntInv(-2)', (x) => x / -2, [ANY]),
  each('a * RatCst(2, 3)', (x) => (2 * x) / 3, [ANY]),
  each('a + Zero(3)', (x) => x, [ANY]),
  each('Factorize(a * b, b)', (x, y) => x * y, [ANY, ANY]),
  each('AutoFactorize(a * a * a)', (x) => x ** 3, [ANY]),
  // kernels of a squared distance
  each('OneAtZero(Exp(-a), a)', (s) => Math.exp(-s), [POSITIVE]),
  each('RadialPower(a, 1.5)', (s) => Math.sqrt(s) ** 3, [POSITIVE]),
  each('RadialLog(a, 2)', (s) => s * s * Math.log(Math.sqrt(s)), [POSITIVE]),
  each(
    'RadialBesselK(a, 0.7)',
    (u) => Math.sqrt(u) ** 0.7 * besselKIntegral(0.7, Math.sqrt(u)),
    [POSITIVE],
    1e-10,
  ),
  each(
    'RadialBesselK(a, 2.5)',
    (u) => Math.sqrt(u) ** 2.5 * besselKIntegral(2.5, Math.sqrt(u)),
    [POSITIVE],
    1e-10,
  ),
  each('RadialWendland(a, 3, 1)', (s) => wendland31(s, 1) / 20, [[0.1, 0.8]]),
];

/** Kernels, of a squared distance a of dim 1 and a length b. */
function kernel(
  text: string,
  f: (s: number, h: number) => number,
  tolerance = 1e-12,
): OperationCase {
  return {
    text,
    inputs: [
      [1, 0.3, 2],
      [1, 1.8, 2.5],
    ],
    oracle: ([s], [h]) => [f(s!, h!)],
    tolerance,
  };
}

/** The named kernels. */
export const KERNEL_CASES: readonly OperationCase[] = [
  kernel('Gaussian(a, b)', (s, h) => Math.exp(-s / (2 * h * h))),
  kernel('Exponential(a, b)', (s, h) => Math.exp(-Math.sqrt(s) / h)),
  kernel('Matern(a, 1.5, b)', matern32),
  kernel(
    'Matern(a, 0.8, b)',
    (s, h) => {
      const z = Math.sqrt(1.6 * s) / h;
      return (2 ** 0.2 / 1.164_229_713_725_303) * z ** 0.8 * besselKIntegral(0.8, z);
    },
    1e-9,
  ),
  kernel('GeneralizedExponential(a, 1.2, b)', (s, h) => Math.exp(-((Math.sqrt(s) / h) ** 1.2))),
  kernel('RationalQuadratic(a, 1.5, b)', (s, h) => (1 + s / (3 * h * h)) ** -1.5),
  kernel('Cauchy(a, b)', (s, h) => (h * h) / (h * h + s)),
  kernel('Multiquadric(a, b)', (s, h) => Math.hypot(h, Math.sqrt(s)) / h),
  kernel('InverseMultiquadric(a, b)', (s, h) => h / Math.hypot(h, Math.sqrt(s))),
  kernel('Polyharmonic(a, 2)', (s) => s * Math.log(Math.sqrt(s))),
  kernel('Polyharmonic(a, 3)', (s) => s * Math.sqrt(s)),
  kernel('Wendland(a, 3, 1, b)', wendland31),
];
