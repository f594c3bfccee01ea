import type { Expr } from '@mercer/formula';
import type { CpuLimits } from '../device-limits.js';
import type { DType, PairwiseDType } from '../dtype.js';
import type { Scalars } from '../emitted-kernel.js';

/** Formulas applied to every element of their inputs; strides in elements, 0 along repeated axes. */
export interface MapProblem {
  readonly results: readonly MapResult[];
  readonly shape: readonly number[];
  /** Inputs that no formula reads are left out of the kernel. */
  readonly inputs: readonly MapInput[];
  /** Numbers of the launch, by the names of the variables that they are. */
  readonly parameters?: Readonly<Record<string, number>>;
  /** Axes (0 is the first) whose index is the value of a variable, by its name. */
  readonly indices?: Readonly<Record<string, number>>;
  /** 'float64' computes in it also where no operand is float64. */
  readonly computesIn?: PairwiseDType | undefined;
}

/** One result of a map. */
export interface MapResult {
  /** In the names of the inputs, parameters and indices; a comparison gives 1 or 0. */
  readonly expr: Expr;
  readonly dtype: DType;
  readonly strides: readonly number[];
}

/** One input of a map, broadcast to the shape of the problem. */
export interface MapInput {
  readonly name: string;
  readonly dtype: DType;
  readonly strides: readonly number[];
}

/** Everything that decides the text of a map. */
export interface MapPlan {
  readonly family: 'map';
  /** Of a CPU with the level of its instruction set. */
  readonly target: { readonly kind: 'cuda' } | Pick<CpuLimits, 'kind' | 'level'>;
  /** The formula of each result, and what it is stored as. */
  readonly results: readonly { readonly expr: Expr; readonly dtype: DType }[];
  /** What the formulas are computed in: float64 where an input or a result is, or an index needs it; else float32. */
  readonly dtype: PairwiseDType;
  /** 'linear': one dimension, every result and every input contiguous along it or repeated. */
  readonly mode: 'linear' | 'strided';
  readonly rank: number;
  readonly inputs: readonly PlannedInput[];
  readonly parameters: readonly string[];
  readonly indices: readonly string[];
  /** How a map that is not linear walks on a GPU. */
  readonly walk: StridedWalk | undefined;
  /** Of a kernel that does several maps like this one, each with pointers and an extent of its own: how many. */
  readonly segments: number | undefined;
}

/** How a map that is not linear walks on a GPU. */
export interface StridedWalk {
  /** Elements of a row that a thread computes together: a pack where rows are whole packs, else one of each so many equal parts of the row. One where places are of 32 bits and rows too short. */
  readonly lanes: number;
  /** The integers of places: 32 bits where no operand reaches further. */
  readonly index: 'i32' | 'i64';
}

/** An input as the text sees it. */
export interface PlannedInput {
  readonly name: string;
  readonly dtype: DType;
  /** One element for all, in mode 'linear'; false in other modes, where strides say it. */
  readonly repeated: boolean;
}

/** A plan with the arguments that make it this map. */
export interface PlannedMap {
  readonly plan: MapPlan;
  readonly scalars: Scalars;
  /** For each input of the plan, its place in the problem's inputs and the elements to add to its start. */
  readonly inputs: readonly { readonly index: number; readonly offset: number }[];
  /** Elements to add to the start of each result. */
  readonly outOffsets: readonly number[];
}
