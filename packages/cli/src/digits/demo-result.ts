import type { Classification } from './classification.js';
import type { RidgePath } from './ridge-path.js';
import type { Score } from './score.js';

/** One classification of the held-out digits: a norm on a device. */
export interface DemoRun {
  readonly device: string;
  readonly deviceName: string;
  readonly p: number;
  readonly classification: Classification;
  /** First call: generating, compiling or fetching the kernel, and running it. */
  readonly firstMs: number;
  /** The distances alone once the kernel is there, median of several calls. */
  readonly distanceMs: number;
  /** Copying the distances to the host and voting there. */
  readonly voteMs: number;
}

/** Kernel ridge regression on the kernel matrix of one device. */
export interface RidgeRun {
  readonly device: string;
  readonly deviceName: string;
  readonly kernel: 'laplace';
  /** Training digits whose median distance gives the bandwidth. */
  readonly sampleCount: number;
  readonly medianDistance: number;
  readonly bandwidth: number;
  readonly ridge: number;
  /** Where the linear algebra ran, and whose it is. */
  readonly solvedOn: string;
  readonly solver: string;
  readonly score: Score;
  /** First call: generating, compiling or fetching the kernel, and computing the kernel matrix. */
  readonly firstMs: number;
  /** The kernel matrix of the training digits once the kernel is there. */
  readonly kernelMs: number;
  /** The Cholesky solve, with copying the kernel matrix where that is done elsewhere. */
  readonly solveMs: number;
  /** The kernel of held-out and training digits, its product with the coefficients, the answers. */
  readonly predictMs: number;
  readonly path: RidgePath;
}

/** Everything that the demo measured; the report is drawn from it. */
export interface DemoResult {
  readonly command: string;
  readonly trainCount: number;
  readonly testCount: number;
  readonly pixelCount: number;
  readonly k: number;
  readonly machine: { readonly cpu: string; readonly node: string; readonly platform: string };
  readonly runs: readonly DemoRun[];
  readonly ridge: readonly RidgeRun[];
  /** Why `ridge` is empty, where it is. */
  readonly ridgeLeftOut?: string;
  readonly startedAt: string;
}
