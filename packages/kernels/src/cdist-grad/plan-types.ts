import type { CpuLevel } from '../emit/cpu-vector.js';
import type { CdistGradProblem } from './problem.js';

/**
 * Sizes of the kernel that multiplies with plain multiply-adds. A thread keeps `tileO` sums for each
 * of `perThreadN` x `perThreadM` elements of d.
 */
export interface FmaConfig {
  readonly tileO: number;
  readonly perThreadN: number;
  readonly perThreadM: number;
  readonly blocksPerMultiprocessor: number;
}

/**
 * Sizes of the kernel that multiplies on tensor cores: 16 rows of c at a time. A warp keeps the sums
 * of `perWarpN` x (8 `perWarpM`) elements of d.
 */
export interface MmaConfig {
  readonly perWarpN: number;
  /** Groups of 8 elements along m. */
  readonly perWarpM: number;
  readonly warpsN: number;
  readonly warpsM: number;
  readonly blocksPerMultiprocessor: number;
}

/**
 * How float32 powers with a run-time exponent are computed: lg2 and ex2 for p above and for p below 1, or polynomials.
 */
export type PowerPath = 'fast' | 'fast-inverse' | 'accurate';

interface CudaCdistGradBase extends Pick<
  CdistGradProblem,
  'dtype' | 'phi' | 'alignedA' | 'alignedB' | 'alignedC' | 'alignedOut'
> {
  readonly kind: 'cuda';
  readonly family: 'cdist-grad';
  /** One readable line. */
  readonly summary: string;
  readonly power?: PowerPath;
  /** Parts of k, each by its own block; above 1 a second kernel adds them in a fixed order. */
  readonly splitK: number;
}

/** Plain multiply-adds on register tiles. */
export interface FmaPlan extends CudaCdistGradBase {
  readonly strategy: 'fma';
  readonly fma: FmaConfig;
}

/** Tensor cores on operands split in two (float32 only). */
export interface MmaPlan extends CudaCdistGradBase {
  readonly strategy: 'mma';
  readonly mma: MmaConfig;
}

/** A plan for a GPU. */
export type CudaCdistGradPlan = FmaPlan | MmaPlan;

/**
 * How the problem is computed on a CPU. A task computes `blockO` x `blockN` x `blockM` results,
 * `blockK` steps of k at a time: the factors a phi(delta) of one n go to a buffer in the first-level
 * cache, and a register tile of `tileO` rows by `tileVectors` vectors multiplies them with c.
 */
export interface CpuCdistGradPlan extends Pick<CdistGradProblem, 'dtype' | 'phi'> {
  readonly kind: 'cpu';
  readonly family: 'cdist-grad';
  /** One readable line. */
  readonly summary: string;
  readonly level: CpuLevel;
  readonly cores: number;
  readonly tileO: number;
  readonly tileVectors: number;
  readonly blockO: number;
  readonly blockN: number;
  readonly blockM: number;
  readonly blockK: number;
}

/** A plan: plain frozen data, the same for the same problem and limits. */
export type CdistGradPlan = CudaCdistGradPlan | CpuCdistGradPlan;
