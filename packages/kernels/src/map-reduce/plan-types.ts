import type { CpuLevel } from '../emit/cpu-vector.js';
import type { RealExpr } from '@mercer/formula';
import type { Gather } from './lowering/written-out.js';
import type { LaunchedPlan } from './launched-plan.js';
import type { PairTilePlan } from './loops/plan-types.js';

/** How a CPU cuts the rows. */
export interface CpuTile {
  /** Vectors of kept rows of a task. */
  readonly keptVectors: number;
  /** Reduced rows between two merges, and that stay in the cache for all vectors. */
  readonly tile: number;
  /** Parts of the reduced rows, each of another task; above 1 a second step merges them. */
  readonly splits: number;
  /** The kernel is a program alone, without text for a compiler. */
  readonly interpreted?: true | undefined;
}

/** How a GPU cuts the rows. */
export interface CudaTile {
  /** Kept rows of a thread. */
  readonly rowsPerThread: 1 | 2 | 4;
  /** Threads of a block. */
  readonly threads: number;
  /** Threads that share a kept row: each sees a slice of the reduced rows of the block. */
  readonly slices: number;
  /** Reduced rows of a slice in shared memory, and between two merges. */
  readonly tile: number;
  /** Whether values of pairs go through shared memory, where inputs have any. */
  readonly pairs?: 'staged' | 'direct' | undefined;
  /** Reduced rows whose work is written out together. */
  readonly unroll: number;
  /** Reduced rows that are added at a time, where that costs less. */
  readonly unrolledRows: number;
  /** Parts of the reduced rows, each of other blocks; above 1 a second step merges them. */
  readonly splits: number;
  /** Blocks of a multiprocessor at a time that registers are to leave room for. */
  readonly resident: number;
}

interface CommonPlan extends LaunchedPlan {
  /** What is computed for a pair of rows: of each reduction the formula's components, then those of the weight. */
  readonly values: readonly RealExpr[];
  /** Rows that are taken by index, where there are any. */
  readonly gathers?: readonly Gather[] | undefined;
}

/** How a formula is reduced on a CPU. */
export interface CpuMapReducePlan extends CommonPlan, CpuTile {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
}

/** How a formula is reduced on a GPU. */
export interface CudaMapReducePlan extends CommonPlan, CudaTile {
  readonly kind: 'cuda';
}

/** How a short formula is reduced: every operation on every component is written out. */
export type UnrolledPlan = CpuMapReducePlan | CudaMapReducePlan;

/** How a formula is reduced: plain frozen data, the same for the same problem and limits. */
export type MapReducePlan = UnrolledPlan | PairTilePlan;
