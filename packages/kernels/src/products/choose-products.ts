import { mul, sub, variable, type RealExpr } from '@mercer/formula';
import type { CudaLimits, DeviceLimits } from '../device-limits.js';
import type { PairwiseProblem } from '../pairwise/problem.js';
import type { ProductsConfig } from './products-config.js';

/** Multiply-adds of TF32 of a multiprocessor in a clock, by the compute capability; others do not outrun their float32 units. */
const TF32_RATES: Readonly<Record<string, number>> = { '8.0': 512, '9.0': 1024 };
/** What the library reached of them, and the direct kernels of their own instructions, on an H200 (docs/lab/inner-products-in-two-phases.md). */
const EFFICIENCY = { products: 0.78, direct: 0.87 } as const;
const CLOCK_HZ = 1.755e9;
const LANES = 128;
/** Bytes per second of a copy: of an A100 about 1.5e12, of an H100 2.8e12. */
const BANDWIDTH: Readonly<Record<string, number>> = { '8.0': 1.3e12, '9.0': 2.8e12 };
/** What the host takes for the library's calls and four launches more, in seconds. */
const LAUNCHES = 150e-6;
/** Other plans are only left for a quarter more speed: what is computed again is not known before. */
const LEAST_GAIN = 1.25;
/** Steps of a chunk at most. */
const LONGEST_CHUNK = 256;
/** A chunk is a multiple of so many steps, so that the library loads 16 bytes at a time. */
const CHUNK_UNIT = 8;
/** Below so many features norms and products cost as much as they save. */
const LEAST_FEATURES = 32;

/*
 * |computed - true| <= (OWN_ERROR + s / N * 2 CHUNK_ERROR chunk) u N, where N is the sum of both squared norms and s the product: measured
 * for chunks of 64, 128 and 256 steps, 6 to 8, 11 to 14 and 22 to 23 u N where s is N / 2, and 3 to 5 u N where s is about 0. Sums inside
 * tensor cores are truncated, so that the error grows with the sum itself and with the steps.
 */
const OWN_ERROR = 6;
const CHUNK_ERROR = 0.095;
/** The share of the published bound that pairs may use which are not computed again. */
const SHARE = 0.8;

/** The chunks of a sum over k, and the pairs that the published bound of `cdist` wants computed again. */
export function productsConfig(k: number): ProductsConfig {
  const chunks = Math.max(1, Math.ceil(k / LONGEST_CHUNK));
  const chunk = CHUNK_UNIT * Math.ceil(k / chunks / CHUNK_UNIT);
  const bound = SHARE * (2 * Math.sqrt(k) + 7);
  const error = CHUNK_ERROR * chunk;
  // (own + error (1 - r)) / r = bound
  return Object.freeze({ chunk, chunks, closeness: (OWN_ERROR + error) / (bound + error) });
}

/** What two ways of computing pairs are predicted to take, in seconds. */
export interface PredictedProducts {
  readonly products: number;
  readonly direct: number;
}

const difference = sub(variable('a'), variable('b'));
const turned = sub(variable('b'), variable('a'));

/** Whether a sum of such terms is a squared distance. */
export const isSquaredDifference = (inner: RealExpr): boolean =>
  inner === mul(difference, difference) || inner === mul(turned, turned);

/** Predicts a problem of squared distances; undefined where tensor cores do not compute it. */
export function predictProducts(
  { m, n, k, batch }: Pick<PairwiseProblem, 'm' | 'n' | 'k' | 'batch'>,
  { computeCapability, multiprocessors }: CudaLimits,
): PredictedProducts | undefined {
  const family = computeCapability.join('.');
  const [rate, bandwidth] = [TF32_RATES[family], BANDWIDTH[family]];
  if (rate === undefined || bandwidth === undefined) return undefined;
  const { chunk, chunks } = productsConfig(k);
  const [pairs, units] = [m * n * batch, multiprocessors * CLOCK_HZ];
  const multiply = (3 * pairs * chunk * chunks) / (units * rate * EFFICIENCY.products);
  // each chunk after the first reads and writes the products again, half of it while others are computed; the last pass does too
  const moved = 4 * (pairs * (chunks + 2) + 5 * (m + n) * batch * k);
  return {
    products: multiply + moved / bandwidth + LAUNCHES,
    direct: (2 * pairs * k) / (units * LANES * EFFICIENCY.direct),
  };
}

/**
 * The way through products where it is predicted to be the quicker one: squared distances in float32 of row-major matrices, on GPUs whose
 * tensor cores outrun their float32 units. Nothing is known here of the library that multiplies.
 */
export function chooseProducts(
  problem: PairwiseProblem,
  limits: DeviceLimits,
): ProductsConfig | undefined {
  const { dtype, k, batch, inner, reduce, symmetric } = problem;
  const { layoutA, layoutB, layoutOut } = problem;
  if (limits.kind === 'cpu' || dtype !== 'float32' || k < LEAST_FEATURES || batch !== 1) {
    return undefined;
  }
  if (reduce !== 'sum' || symmetric === true || !isSquaredDifference(inner)) return undefined;
  if ([layoutA, layoutB, layoutOut].includes('column')) return undefined;
  const seconds = predictProducts(problem, limits);
  return seconds !== undefined && seconds.direct > LEAST_GAIN * seconds.products
    ? productsConfig(k)
    : undefined;
}

/** What the direct sums over many components reach of the float32 units, and seconds of a multiprocessor for a value of a pair that is read. */
const REDUCTION = { direct: 0.79, value: 6.6e-10 } as const;

/** Whether reductions of squared distances are predicted to be quicker with products, whose values they read again. */
export function predictReductionByProducts(
  problem: Pick<PairwiseProblem, 'm' | 'n' | 'k' | 'batch'>,
  limits: CudaLimits,
): boolean {
  const seconds = predictProducts(problem, limits);
  if (seconds === undefined) return false;
  const read = (problem.m * problem.n * REDUCTION.value) / limits.multiprocessors;
  const direct = (seconds.direct * EFFICIENCY.direct) / REDUCTION.direct;
  return direct > LEAST_GAIN * (seconds.products + read);
}
