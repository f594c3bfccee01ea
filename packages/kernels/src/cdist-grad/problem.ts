import type { RealExpr } from '@mercer/formula';
import type { PairwiseDType } from '../dtype.js';

/** Sizes of a problem, to choose a plan by, or of a launch. A plan is right for every size, fast for sizes like its problem's. */
export interface CdistGradSizes {
  readonly m: number;
  readonly n: number;
  readonly o: number;
  readonly k: number;
  readonly batch: number;
}

/**
 * The problem of a weighted sum of norm derivatives:
 * `out[l,o,n,m] = sum_k c[l,o,k] a[l,k,m] phi(d[l,n,m] - b[l,n,k])`,
 * with `phi(delta) = sign(delta) |delta|^(p - 1)`. a (L,K,M), b (L,N,K), c (L,O,K), d (L,N,M), out
 * (L,O,N,M); every last axis is contiguous, the others have any stride.
 */
export interface CdistGradProblem extends CdistGradSizes {
  readonly dtype: PairwiseDType;
  /** In the variable `delta` and, with a run-time exponent, `p`; see `normDerivative`. */
  readonly phi: RealExpr;
  /**
   * The value of the run-time exponent where the host knows it: a hint like the sizes. Absent: it
   * lies in device memory, and the plan takes every value.
   */
  readonly p?: number;
  /** Base pointer, leading stride and batch stride are all multiples of 16 bytes. */
  readonly alignedA: boolean;
  readonly alignedB: boolean;
  readonly alignedC: boolean;
  /** The same of the output and of both its leading strides. */
  readonly alignedOut: boolean;
}
