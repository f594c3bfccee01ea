import { describeValue, type OptionNames } from '@mercer/options';
import { readOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import { checkPositive } from './cluster-data.js';

/** Where a kernel of the distance r falls to e, in bandwidths: the solution of k(r) = e for kernels with k(0) = 1. */
const CUTOFFS = {
  /** exp(-r^2 / (2 h^2)) */
  gaussian: (e: number) => Math.sqrt(-2 * Math.log(e)),
  /** exp(-r / h) */
  laplacian: (e: number) => -Math.log(e),
  /** (1 + x) exp(-x), x = sqrt 3 r / h */
  matern32: (e: number) => crossing((x) => (1 + x) * Math.exp(-x), e) / Math.sqrt(3),
  /** (1 + x + x^2 / 3) exp(-x), x = sqrt 5 r / h */
  matern52: (e: number) => crossing((x) => (1 + x + x ** 2 / 3) * Math.exp(-x), e) / Math.sqrt(5),
  /** 1 / (1 + r^2 / h^2) */
  cauchy: (e: number) => Math.sqrt(1 / e - 1),
  /** 1 / sqrt(1 + r^2 / h^2) */
  inverseMultiquadric: (e: number) => Math.sqrt(e ** -2 - 1),
} as const;

/** Kernels whose decay is known. */
export type DecayingKernel = keyof typeof CUTOFFS;

/** How far a kernel reaches. */
export interface CutoffOptions {
  /** A kernel by name, or a bound of one: a function of the distance that never rises, and is nowhere below the kernel's size. */
  readonly kernel: DecayingKernel | ((distance: number) => number);
  /** The kernel's bandwidth; default 1. A function gets distances divided by it. */
  readonly bandwidth?: number | undefined;
  /** What a pair that is left out may count at most: 0 < error. */
  readonly error: number;
}

/** Names of {@link CutoffOptions}. */
export const CUTOFF_OPTIONS: OptionNames<CutoffOptions> = {
  kernel: true,
  bandwidth: true,
  error: true,
};

/**
 * The distance from which on a kernel is at most `error`: pairs that lie further apart may be left out of a sum `sum_j k(x_i, y_j) b_j`, which
 * changes by at most `error * sum_j |b_j|`.
 *
 * With the bandwidth h: gaussian `exp(-r^2 / (2 h^2))`, laplacian `exp(-r / h)`, matern32 and matern52 (Rasmussen and Williams, Gaussian
 * Processes for Machine Learning, section 4.2), cauchy `1 / (1 + r^2 / h^2)`, inverseMultiquadric `1 / sqrt(1 + r^2 / h^2)`. The last two
 * decay slowly, and reach far for a small error.
 *
 * @throws LazyError INVALID_ARGUMENT, also where a function does not fall to `error`
 *
 * @example
 * ```ts
 * import { cutoffOf } from '@mercer/lazy';
 *
 * console.log(cutoffOf({ kernel: 'gaussian', bandwidth: 0.1, error: 1e-6 }).toFixed(4)); // 0.5257
 * console.log(cutoffOf({ kernel: (r) => Math.exp(-r), error: 1e-3 }).toFixed(3)); // 6.908
 * ```
 */
export function cutoffOf(options: CutoffOptions): number {
  const what = 'cutoffOf';
  const { kernel, bandwidth = 1, error } = readOptions(what, options, CUTOFF_OPTIONS);
  checkPositive(what, 'the bandwidth', bandwidth);
  checkPositive(what, 'the error', error);
  if (typeof kernel === 'function') return bandwidth * crossing(kernel, error);
  if (!Object.hasOwn(CUTOFFS, kernel)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the kernel is ${describeValue(kernel)}. Use ${Object.keys(CUTOFFS).join(', ')}, or a function of the distance that bounds it.`,
    );
  }
  return error >= 1 ? 0 : bandwidth * CUTOFFS[kernel](error);
}

/** The farthest that is looked for. */
const FARTHEST = 1e12;

/** Where a function that never rises falls to a value: the upper end of the last interval of a bisection. */
function crossing(bound: (distance: number) => number, value: number): number {
  const isBelow = (distance: number): boolean => {
    const found = bound(distance);
    if (Number.isFinite(found) && found >= 0) return found <= value;
    if (found === Infinity) return false;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `cutoffOf: the bound at distance ${distance} is ${describeValue(found)}. Return the largest size of the kernel from there on.`,
    );
  };
  if (isBelow(0)) return 0;
  let high = 1;
  while (!isBelow(high)) {
    if (high > FARTHEST) {
      throw new LazyError(
        'INVALID_ARGUMENT',
        `cutoffOf: the bound is still ${bound(high)} at distance ${high}, above the error ${value}. The kernel must fall to the error, or the error be larger.`,
      );
    }
    high *= 2;
  }
  let low = high === 1 ? 0 : high / 2;
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (isBelow(middle)) high = middle;
    else low = middle;
  }
  return high;
}
