import {
  abs,
  add,
  call,
  div,
  exp,
  min,
  mul,
  neg,
  pow,
  rsqrt,
  simplify,
  sqrt,
  tanh,
  variable,
  type RealExpr,
} from '@mercer/formula';

/** Kernels of d as it stands. */
export type PlainKernel = 'none' | 'laplace' | 'gaussian';

/** Kernels of d = s, the squared distance. */
export type RadialKernel =
  'matern12' | 'matern32' | 'matern52' | 'cauchy' | 'rationalQuadratic' | 'inverseMultiquadric';

/** Kernels of d = t, the inner product; `cosine` is that of rows of length 1. */
export type ProductKernel = 'cosine' | 'polynomial' | 'sigmoid';

/** The kernels that have a name. */
export type KernelName = PlainKernel | RadialKernel | ProductKernel;

/** The function of a kernel, written in d and in variables named like the parameters. */
type KernelFunction = (d: RealExpr, degree: RealExpr) => RealExpr;

/** e^-x is 0 from here on in both precisions; beyond, x is held, so that an infinite x gives 0 times a number. */
const FAR = 1000;

const bandwidth = variable('bandwidth');
const squaredBandwidth = mul(bandwidth, bandwidth);
const alpha = variable('alpha');

/** `1 + d / h^2` */
const onePlusScaled = (d: RealExpr): RealExpr => add(1, mul(d, div(1, squaredBandwidth)));

/** `sqrt(2 nu d) / h` with 2 nu = `twice`, at most FAR. */
const scaledRadius = (d: RealExpr, twice: number): RealExpr =>
  min(mul(sqrt(d), div(Math.sqrt(twice), bandwidth)), FAR);

/** A kernel of the squared distance without what rounding adds to 1, with the derivatives of the formula. */
const atMostOne = (value: RealExpr, d: RealExpr): RealExpr => call('oneAtZero', [value, d]);

/** `gamma t + offset` */
const affine = (t: RealExpr): RealExpr => add(mul(variable('gamma'), t), variable('offset'));

/**
 * The kernels, h being the bandwidth:
 * - laplace `exp(-d / h)` and gaussian `exp(-d / (2 h^2))`, of d as it stands: Kermac's convention;
 * - of the squared distance d = s, with r = sqrt s: matern12 `exp(-r / h)`, matern32 `(1 + x) exp(-x)` with
 *   x = sqrt3 r / h, matern52 `(1 + x + x^2 / 3) exp(-x)` with x = sqrt5 r / h, rationalQuadratic
 *   `(1 + s / (2 alpha h^2))^-alpha` (Rasmussen and Williams, Gaussian Processes for Machine Learning, chapter 4),
 *   cauchy `1 / (1 + s / h^2)`, inverseMultiquadric `1 / sqrt(1 + s / h^2)`;
 * - of the inner product d = t: polynomial `(gamma t + offset)^degree`, sigmoid `tanh(gamma t + offset)`.
 */
export const KERNEL_FUNCTIONS: Readonly<Record<KernelName, KernelFunction>> = {
  none: (d) => d,
  cosine: (d) => d,
  laplace: (d) => exp(mul(d, neg(div(1, bandwidth)))),
  gaussian: (d) => exp(mul(d, neg(div(0.5, squaredBandwidth)))),
  matern12: (d) => exp(mul(sqrt(d), neg(div(1, bandwidth)))),
  matern32: (d) => {
    const x = scaledRadius(d, 3);
    return atMostOne(mul(add(1, x), exp(neg(x))), d);
  },
  matern52: (d) => {
    const x = scaledRadius(d, 5);
    return atMostOne(mul(add(1, mul(x, add(1, mul(1 / 3, x)))), exp(neg(x))), d);
  },
  cauchy: (d) => div(1, onePlusScaled(d)),
  // The absolute value changes nothing for alpha > 0 and tells emitters that the base is positive.
  rationalQuadratic: (d) =>
    pow(add(1, mul(d, abs(div(0.5, mul(alpha, squaredBandwidth))))), neg(alpha)),
  inverseMultiquadric: (d) => rsqrt(onePlusScaled(d)),
  polynomial: (t, degree) => simplify(pow(affine(t), degree)),
  sigmoid: (t) => tanh(affine(t)),
};
