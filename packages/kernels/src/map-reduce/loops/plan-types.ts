import type { CpuLevel } from '../../emit/cpu-vector.js';
import type { LaunchedPlan } from '../launched-plan.js';
import type { ColumnBlock } from './column-blocks.js';
import type { LoopFormula } from './loop-formula.js';

/** What the plans of both devices say. */
export interface CommonPairTilePlan extends LaunchedPlan {
  /** The formula's long sums and its components are loops. */
  readonly form: 'loops';
  /** Numbers of a row of results. */
  readonly width: number;
  /** Scalar operations at a pair of rows. */
  readonly operations: number;
  readonly formula: LoopFormula;
  /** How each reduction is reduced. */
  readonly columns: readonly ColumnBlock[];
  /** Parts of the reduced rows, each of other tasks or blocks; above 1 a second step merges them. */
  readonly splits: number;
}

/** How a formula of long vectors is reduced on a CPU. */
export interface CpuPairTilePlan extends CommonPairTilePlan {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
  /** Vectors of kept rows of a task. */
  readonly keptVectors: number;
  /** Reduced rows whose inner sums run together. */
  readonly reducedAtOnce: number;
  /** Reduced rows whose pair values are staged while the columns pass. */
  readonly tile: number;
  /** Blocks of columns of a task. */
  readonly blocks: number;
  /** Whether a task copies its kept rows, one component after the other. */
  readonly packed: boolean;
}

/** How a formula of long vectors is reduced on a GPU. */
export interface CudaPairTilePlan extends CommonPairTilePlan {
  readonly kind: 'cuda';
  /** Kept rows of a thread. */
  readonly keptPerThread: 1 | 2 | 4 | 8;
  /** Reduced rows of a thread whose inner sums run together. */
  readonly reducedPerThread: 1 | 2 | 4 | 8;
  /** Reduced rows whose pair values are staged while the columns pass. */
  readonly tile: number;
  /** Steps of an inner sum that are copied to shared memory at a time; 0: none is. */
  readonly steps: number;
}

/** How a formula of long vectors is reduced: plain frozen data. */
export type PairTilePlan = CpuPairTilePlan | CudaPairTilePlan;

/** Reduced rows between two merges of a sum. */
export const BLOCK_ROWS = 256;
/** Threads of a block along the kept rows, and along the reduced rows or the columns. */
export const CUDA_SIDE = 16;
