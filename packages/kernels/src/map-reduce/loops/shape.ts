import { traitsOf, variables, type ReductionKind } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import type { KernelCost, Scalars } from '../../emitted-kernel.js';
import { inputBytes, rowsOf } from '../params.js';
import { NO_TEXT } from '../reducers/reducers-of.js';
import { wordsOf } from '../reducers/reducer.js';
import { blockReducer, type ColumnBlock } from './column-blocks.js';
import { isLoop, loopGroups, type ScheduledLoop } from './loop-order.js';
import { scheduledLoops } from './tile-text.js';
import { isOfOneSide, type LoopFormula, type ColumnReduction } from './loop-formula.js';
import { CUDA_SIDE, type PairTilePlan } from './plan-types.js';

/** What decides how the rows and columns are cut. */
export interface PairTileShape {
  readonly dtype: PairwiseDType;
  readonly formula: LoopFormula;
  readonly columns: readonly ColumnBlock[];
  readonly keptRows: number;
  readonly reducedRows: number;
  /** Whether the reduced rows may be seen in parts. */
  readonly mergeable: boolean;
  /** Components of the inputs of the kept side. */
  readonly own: number;
  /** Words of the running results of a block of columns of each reduction. */
  readonly accumulators: number;
  /** Inner sums that run in one loop on a CPU, and all of a pair on a GPU. */
  readonly sums: number;
  /** Values of pairs that inner sums read, each by an address of its own. */
  readonly pairLoads: number;
  /** Lengths of the inner sums of a pair. */
  readonly sizes: readonly number[];
  /** Scalar operations at a pair of rows. */
  readonly operations: number;
  /** Whether the running result is a list of the K best. */
  readonly ranked: boolean;
}

/** Columns of a reduction that are reduced together: few of those that cost much. */
export function columnsAtOnce(
  kind: ReductionKind,
  formula: LoopFormula,
  { columns, before, column, counter }: ColumnReduction,
  device: DeviceLimits['kind'],
  dtype: PairwiseDType,
): number {
  if (columns === 1 || traitsOf(kind).takesK) return 1;
  // one exponential serves a block
  if (before.length > 0) return device === 'cpu' ? Math.min(columns, 8) : fittingBlock(columns, 4);
  const { roots, scheduled } = scheduledLoops(formula);
  if (loopGroups(scheduled, counter, roots.slice(column, column + 1)).length > 0) return 1;
  if (device === 'cpu') return Math.min(columns, 4);
  // a GPU's block of threads computes the inner sums of pairs again for the next columns
  // and needs registers for the addresses of rows by index
  const isCostly =
    dtype === 'float32' && mostSumsOfGroup(formula) > 0 && formula.gathers === undefined;
  return fittingBlock(columns, isCostly ? 8 : 4);
}

/** Columns of a thread of a GPU, at most so many, and no more than the threads of a row need for all of them. */
const fittingBlock = (columns: number, most: number): number =>
  Math.ceil(columns / CUDA_SIDE / Math.ceil(columns / (most * CUDA_SIDE)));

/** Words of the data type that the running results of a block of columns take. */
export function wordsOfBlocks(columns: readonly ColumnBlock[], dtype: PairwiseDType): number {
  return wordsOf(
    columns.flatMap((one) => blockReducer(one, NO_TEXT).accumulators),
    dtype,
  );
}

/** The most inner sums that one loop over a pair's components has; 0: there is no such loop. */
export function mostSumsOfGroup(formula: LoopFormula): number {
  return Math.max(0, ...pairGroups(formula).map((group) => group.length));
}

/** The lengths of the inner sums of a pair. */
export function pairSums(formula: LoopFormula): number[] {
  return pairGroups(formula)
    .flat()
    .map(({ size }) => size);
}

/** How many loads each loop over a pair's components could copy to shared memory. */
export function stagedLoads(formula: LoopFormula): number[] {
  const counters = new Map(
    formula.loads
      .filter((load) => load.line !== undefined && isOfOneSide(load))
      .map(({ name, line }) => [name, line?.counter]),
  );
  return pairGroups(formula).map((group) => {
    const names = new Set(group.flatMap(({ body }) => variables(body)));
    return [...names].filter((name) => counters.get(name) === group[0]?.counter).length;
  });
}

function pairGroups(formula: LoopFormula): ScheduledLoop[][] {
  const { roots, scheduled } = scheduledLoops(formula);
  const columns = formula.reductions.flatMap(({ column }) => roots.slice(column, column + 1));
  return loopGroups(scheduled, '', [...roots.slice(0, formula.pair), ...columns])
    .map((group) => group.filter(isLoop))
    .filter((group) => group.length > 0);
}

/** What a launch must do at least: each input read once, every operation once at every pair of rows. */
export function pairTileCost(plan: PairTilePlan, scalars: Scalars): KernelCost {
  const { batch = 0 } = scalars;
  const { kept, reduced } = rowsOf(plan, scalars);
  return {
    bytes: batch * (inputBytes(plan, scalars) + kept * plan.width * dtypeBytes(plan.dtype)),
    flops: batch * kept * reduced * plan.operations,
  };
}
