import type { Category, Reduction, ReductionKind } from '@mercer/formula';
import type { PairwiseDType } from '../dtype.js';
import type { SumOptions } from './reducers/reducer.js';

/** 16-bit types that inputs may be stored in; float32 computes. */
export type HalfDType = 'float16' | 'bfloat16';

/** An input of a plan: `dim` numbers for every row of i or of j, for every pair of both, or once. */
export interface MapReduceInput {
  readonly position: number;
  readonly category: Category;
  readonly dim: number;
  /** The type of its elements where that is not the data type. */
  readonly storage?: HalfDType | undefined;
  /** Rows are taken by index, of as many as `rows<position>` says: of nothing but a table, or also of the current row. */
  readonly table?: 'only' | 'also' | undefined;
}

/** A reduction of a plan. */
export interface PlannedReduction {
  readonly reduction: ReductionKind;
  /** Components of the formula. */
  readonly dim: number;
  /** Components of the weight, 1 where there is none. */
  readonly weightDim: number;
  readonly k: number;
}

/** What a plan says of a reduction. */
export const plannedReduction = ({ kind, formula, weight, k = 1 }: Reduction): PlannedReduction =>
  Object.freeze({ reduction: kind, dim: formula.dim, weightDim: weight?.dim ?? 1, k });

/** What every plan says, whether the formula is written out or loops over its components. */
export interface LaunchedPlan extends PlannedReduction {
  readonly family: 'map-reduce';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  /** 1: over j, a result for every i. 0: over i. */
  readonly axis: 0 | 1;
  /** Reductions of the same pass beside the first, where there are any. */
  readonly further?: readonly PlannedReduction[] | undefined;
  /** Whether the launch says which rows each kept row is reduced over, see `planRanges`. */
  readonly ranges?: true | undefined;
  /** How sums are added up where that is unusual. */
  readonly sums?: SumOptions | undefined;
  /** Whether functions keep the looser bounds alone, where that is quicker: on a GPU, in float32. */
  readonly fastMath?: true | undefined;
  /** Components of a sum of which every pair has one at most: they rest in memory, and a pair computes its place and what it adds there. */
  readonly bins?: number | undefined;
  readonly inputs: readonly MapReduceInput[];
}
