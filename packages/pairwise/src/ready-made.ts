import { kernelDescriptor } from './kernel-descriptor.js';

const squaredDistance = {
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
} as const;
const product = { innerOperator: 'dot', innerPower: 'none', outerPower: 'none' } as const;
const norm = { innerOperator: 'diff', kernel: 'none' } as const;

/** `sum_k |a - b|` */
export const l1Norm = kernelDescriptor({ ...norm, innerPower: 'abs', outerPower: 'none' });
/** `sqrt(sum_k (a - b)^2)` */
export const l2Norm = kernelDescriptor({ ...norm, innerPower: 'square', outerPower: 'sqrt' });
/** `(sum_k |a - b|^p)^(1/p)`; the largest |a - b| for p = Infinity. Needs p, or innerP and outerP. */
export const pNorm = kernelDescriptor({ ...norm, innerPower: 'pow', outerPower: 'pow' });
/** `exp(-d / bandwidth)` of the 1-norm. */
export const laplaceL1 = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'abs',
  outerPower: 'none',
  kernel: 'laplace',
});
/** `exp(-d / bandwidth)` of the 2-norm. */
export const laplaceL2 = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'sqrt',
  kernel: 'laplace',
});
/** `exp(-s / (2 bandwidth^2))`, s being the squared distance. */
export const gaussianL2 = kernelDescriptor({ ...squaredDistance, kernel: 'gaussian' });
/** `sum_k a b`, the matrix product a b^T. */
export const dot = kernelDescriptor({ ...product, kernel: 'none' });

/** `exp(-r / bandwidth)`, r being the distance: Matern with nu = 1/2. */
export const matern12 = kernelDescriptor({ ...squaredDistance, kernel: 'matern12' });
/** `(1 + x) exp(-x)` with x = sqrt(3) r / bandwidth: Matern with nu = 3/2. */
export const matern32 = kernelDescriptor({ ...squaredDistance, kernel: 'matern32' });
/** `(1 + x + x^2 / 3) exp(-x)` with x = sqrt(5) r / bandwidth: Matern with nu = 5/2. */
export const matern52 = kernelDescriptor({ ...squaredDistance, kernel: 'matern52' });
/** `1 / (1 + s / bandwidth^2)` */
export const cauchy = kernelDescriptor({ ...squaredDistance, kernel: 'cauchy' });
/** `(1 + s / (2 alpha bandwidth^2))^-alpha` */
export const rationalQuadratic = kernelDescriptor({
  ...squaredDistance,
  kernel: 'rationalQuadratic',
});
/** `1 / sqrt(1 + s / bandwidth^2)` */
export const inverseMultiquadric = kernelDescriptor({
  ...squaredDistance,
  kernel: 'inverseMultiquadric',
});
/** `t / (|a| |b|)`, t being the inner product; 0 at a zero row. */
export const cosine = kernelDescriptor({ ...product, kernel: 'cosine' });
/** `(gamma t + offset)^degree` */
export const polynomial = kernelDescriptor({ ...product, kernel: 'polynomial' });
/** `tanh(gamma t + offset)` */
export const sigmoid = kernelDescriptor({ ...product, kernel: 'sigmoid' });
