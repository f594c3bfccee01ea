import type { CpuLevel } from '../emit/cpu-vector.js';
import type { CpuTile } from './cpu/tile.js';
import type { CudaTile } from './cuda/tile.js';
import type { RealExpr } from '@mercer/formula';
import type { Gather } from './lowering/written-out.js';
import type { LaunchedPlan } from './launched-plan.js';
import type { PairTilePlan } from './loops/plan-types.js';

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
