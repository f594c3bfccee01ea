/**
 * Ready-made descriptors for `runKernel`: distances, kernels of distances and kernels of the inner product. Each is a frozen
 * value; {@link kernelDescriptor} makes others, {@link customKernel} any formula.
 *
 * In the formulas x is a row of a, y a row of b, both of K features; s = sum_k (x_k - y_k)^2 is the squared distance,
 * r = sqrt(s) the distance, t = sum_k x_k y_k the inner product, and h the option `bandwidth`. Parameters are numbers or
 * tensors with one value for each batch entry.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.cauchy, [[0], [2]], [[0]], { bandwidth: 2, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 1 ], [ 0.5 ] ]
 * ```
 *
 * @module
 */
import { kernelDescriptor } from './kernel-descriptor.js';

const norm = { innerOperator: 'diff', kernel: 'none' } as const;
const squaredDistance = {
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
} as const;
const product = { innerOperator: 'dot', innerPower: 'none', outerPower: 'none' } as const;

/**
 * Manhattan distance, the 1-norm of the difference: `sum_k |x_k - y_k|`. No parameters. Kermac's `l1_norm`, scikit-learn's
 * `manhattan_distances`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const d = await runKernel(kernels.manhattan, [[0, 0]], [[3, 4]], { device: 'cpu' });
 * console.log(await d.toNested()); // [ [ 7 ] ]
 * ```
 */
export const manhattan = kernelDescriptor({ ...norm, innerPower: 'abs', outerPower: 'none' });

/**
 * Euclidean distance, the 2-norm of the difference: `r = sqrt(sum_k (x_k - y_k)^2)`. No parameters. Kermac's `l2_norm`,
 * scikit-learn's `euclidean_distances`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const d = await runKernel(kernels.euclidean, [[0, 0]], [[3, 4]], { device: 'cpu' });
 * console.log(await d.toNested()); // [ [ 5 ] ]
 * ```
 */
export const euclidean = kernelDescriptor({ ...norm, innerPower: 'square', outerPower: 'sqrt' });

/**
 * Minkowski distance, the p-norm of the difference: `(sum_k |x_k - y_k|^p)^(1/p)`, and the largest |x_k - y_k| for
 * p = Infinity. Parameters: `p` > 0, or `innerP` for the power inside the sum and `outerP` for the one outside. Kermac's
 * `p_norm`, scikit-learn's and SciPy's metric `minkowski`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const d = await runKernel(kernels.minkowski, [[0, 0]], [[3, 4]], { p: Infinity, device: 'cpu' });
 * console.log(await d.toNested()); // [ [ 4 ] ]
 * ```
 */
export const minkowski = kernelDescriptor({ ...norm, innerPower: 'pow', outerPower: 'pow' });

/**
 * Laplacian kernel, of the 1-norm: `exp(-sum_k |x_k - y_k| / h)`. Parameters: `bandwidth` h > 0; `epsilon`, below which a
 * distance counts as 0 (1e-5 unless given, as in Kermac). Kermac's `laplace_l1`; scikit-learn's `laplacian_kernel` with
 * gamma = 1 / h. That of the 2-norm is {@link exponential}.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.laplace, [[0, 0]], [[1, 1]], { bandwidth: 2, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.3678... ] ], exp(-1)
 * ```
 */
export const laplace = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'abs',
  outerPower: 'none',
  kernel: 'laplace',
});

/**
 * Exponential kernel, of the 2-norm: `exp(-r / h)`. Parameters: `bandwidth` h > 0; `epsilon`, below which r counts as 0
 * (1e-5 unless given, as in Kermac). Kermac's `laplace_l2`; scikit-learn's `Matern` with nu = 1/2 and length scale h. It is
 * {@link matern12} but for epsilon, which is 0 there.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.exponential, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.3678... ] ], exp(-1)
 * ```
 */
export const exponential = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'sqrt',
  kernel: 'laplace',
});

/**
 * Gaussian kernel, also called RBF: `exp(-s / (2 h^2))`. Parameters: `bandwidth` h > 0; `epsilon`, below which s counts as 0
 * (1e-5 unless given, as in Kermac). In Kermac the descriptor SQUARE, NOOP, GAUSSIAN; scikit-learn's `RBF` with length
 * scale h, and its `rbf_kernel` with gamma = 1 / (2 h^2).
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.gaussian, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.6065... ] ], exp(-1/2)
 * ```
 */
export const gaussian = kernelDescriptor({ ...squaredDistance, kernel: 'gaussian' });

/**
 * Matern kernel with nu = 1/2: `exp(-r / h)`. Parameters: `bandwidth` h > 0. scikit-learn's `Matern(nu=0.5)`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.matern12, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.3678... ] ], exp(-1)
 * ```
 */
export const matern12 = kernelDescriptor({ ...squaredDistance, kernel: 'matern12' });

/**
 * Matern kernel with nu = 3/2: `(1 + u) exp(-u)`, u = sqrt(3) r / h. Parameters: `bandwidth` h > 0. scikit-learn's
 * `Matern(nu=1.5)`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.matern32, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.4833... ] ], (1 + sqrt(3)) exp(-sqrt(3))
 * ```
 */
export const matern32 = kernelDescriptor({ ...squaredDistance, kernel: 'matern32' });

/**
 * Matern kernel with nu = 5/2: `(1 + u + u^2 / 3) exp(-u)`, u = sqrt(5) r / h. Parameters: `bandwidth` h > 0. scikit-learn's
 * `Matern(nu=2.5)`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.matern52, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.5239... ] ], (1 + sqrt(5) + 5/3) exp(-sqrt(5))
 * ```
 */
export const matern52 = kernelDescriptor({ ...squaredDistance, kernel: 'matern52' });

/**
 * Cauchy kernel: `1 / (1 + s / h^2)`. Parameters: `bandwidth` h > 0. It is {@link rationalQuadratic} with alpha = 1 and
 * bandwidth h / sqrt(2).
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.cauchy, [[0, 0]], [[3, 4]], { bandwidth: 5, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.5 ] ]
 * ```
 */
export const cauchy = kernelDescriptor({ ...squaredDistance, kernel: 'cauchy' });

/**
 * Rational quadratic kernel: `(1 + s / (2 alpha h^2))^-alpha`. Parameters: `bandwidth` h > 0, `alpha` > 0. scikit-learn's
 * `RationalQuadratic` with length scale h and the same alpha.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.rationalQuadratic, [[0, 0]], [[3, 4]], {
 *   bandwidth: 5,
 *   alpha: 0.5,
 *   device: 'cpu',
 * });
 * console.log(await k.toNested()); // [ [ 0.7071... ] ], 1 / sqrt(2)
 * ```
 */
export const rationalQuadratic = kernelDescriptor({
  ...squaredDistance,
  kernel: 'rationalQuadratic',
});

/**
 * Inverse multiquadric kernel: `1 / sqrt(1 + s / h^2)`. Parameters: `bandwidth` h > 0. SciPy's `inverse_multiquadric` of
 * `RBFInterpolator` with epsilon = 1 / h.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.inverseMultiquadric, [[0, 0]], [[3, 4]], {
 *   bandwidth: 5,
 *   device: 'cpu',
 * });
 * console.log(await k.toNested()); // [ [ 0.7071... ] ], 1 / sqrt(2)
 * ```
 */
export const inverseMultiquadric = kernelDescriptor({
  ...squaredDistance,
  kernel: 'inverseMultiquadric',
});

/**
 * Linear kernel, the inner product `t = sum_k x_k y_k`: the matrix a b^T. No parameters. Kermac's `mma`, scikit-learn's
 * `linear_kernel`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const t = await runKernel(kernels.dot, [[1, 2]], [[3, 4]], { device: 'cpu' });
 * console.log(await t.toNested()); // [ [ 11 ] ]
 * ```
 */
export const dot = kernelDescriptor({ ...product, kernel: 'none' });

/**
 * Cosine similarity: `t / (|x| |y|)`, and 0 where a row is all zeros. No parameters. scikit-learn's `cosine_similarity`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.cosine, [[3, 4]], [[2, 0]], { device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.6 ] ]
 * ```
 */
export const cosine = kernelDescriptor({ ...product, kernel: 'cosine' });

/**
 * Polynomial kernel: `(gamma t + offset)^degree`. Parameters: `gamma`, `offset`, and `degree`, an integer from 0 on.
 * scikit-learn's `polynomial_kernel`, whose coef0 is `offset`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.polynomial, [[1, 2]], [[3, 4]], {
 *   gamma: 1,
 *   offset: 1,
 *   degree: 2,
 *   device: 'cpu',
 * });
 * console.log(await k.toNested()); // [ [ 144 ] ]
 * ```
 */
export const polynomial = kernelDescriptor({ ...product, kernel: 'polynomial' });

/**
 * Sigmoid kernel: `tanh(gamma t + offset)`. Parameters: `gamma`, `offset`. scikit-learn's `sigmoid_kernel`, whose coef0 is
 * `offset`.
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const k = await runKernel(kernels.sigmoid, [[1, 2]], [[3, 4]], { gamma: 0, offset: 1, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 0.7615... ] ], tanh(1)
 * ```
 */
export const sigmoid = kernelDescriptor({ ...product, kernel: 'sigmoid' });
