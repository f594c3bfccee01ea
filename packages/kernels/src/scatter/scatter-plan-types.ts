import type { SumDType } from '../elementwise/emit-sum.js';
import type { DType } from '../dtype.js';

/** Types of the numbers that name rows. */
export type IndexDType = 'int32' | 'int64';

/** Most entries of an index, and most rows that it may name: positions are kept in 32 bits. */
export const MAX_INDEX_EXTENT = 2 ** 31 - 1;

/** Sizes to choose a plan by: entries of the index, rows that it names, elements of a row. A plan is right for every size. */
export interface ScatterSizes {
  readonly count: number;
  readonly rows: number;
  readonly columns: number;
}

/** `out[r, c]` is the sum of `values[n, c]` over the n with `index[n] = r`; other indices are left out. */
export interface ScatterAddProblem extends ScatterSizes {
  readonly from: SumDType;
  readonly to: SumDType;
  readonly index: IndexDType;
  /** Default true: the same bits every time. Else additions on a GPU come in any order, in the type of the result. */
  readonly deterministic?: boolean;
}

/** `out[r]` is the number of n with `index[n] = r`. */
export interface CountRowsProblem {
  readonly count: number;
  readonly rows: number;
  readonly index: IndexDType;
  readonly to: IndexDType;
}

/** `out[n, c] = x[index[n], c]`, and NaN (0 for types without one) where x has no such row. */
export interface GatherRowsProblem {
  readonly dtype: DType;
  readonly index: IndexDType;
}

/**
 * How rows are summed by index: plain frozen data, the same for the same problem and limits. 'direct': tasks of a CPU and blocks
 * of a GPU own rows of the result and read the whole index. 'sorted': entries are put in the order of the rows first.
 * 'atomic': additions in any order, on a GPU.
 */
export interface ScatterAddPlan {
  readonly family: 'scatter-add';
  readonly kind: 'cuda' | 'cpu';
  /** One readable line. */
  readonly summary: string;
  readonly from: SumDType;
  readonly to: SumDType;
  readonly index: IndexDType;
  readonly mode: 'direct' | 'sorted' | 'atomic';
  /** Whether the kernels add to what the result holds, or leave rows without entries as they are. */
  readonly needsZeros: boolean;
  /** Threads of a CPU to cut the rows for; 0 on a GPU. */
  readonly cores: number;
  /** 0 on a CPU. */
  readonly multiprocessors: number;
  /** Passes of the sort on a GPU, which depend on the number of rows; else 0. */
  readonly passes: number;
  /** Bits of the keys that a pass sorts by; else 0. */
  readonly bits: number;
  /** Sorted entries of a block on a GPU; else 0. */
  readonly tile: number;
}

/** How the entries of each row are counted. */
export interface CountRowsPlan {
  readonly family: 'count-rows';
  readonly kind: 'cuda' | 'cpu';
  readonly summary: string;
  readonly index: IndexDType;
  readonly to: IndexDType;
  /** 'direct': a task or a block owns rows and reads the whole index. 'atomic': additions, on a GPU. */
  readonly mode: 'direct' | 'atomic';
  /** Whether the kernel adds to what the result holds. */
  readonly needsZeros: boolean;
  /** Threads of a CPU to cut the rows for; 0 on a GPU. */
  readonly cores: number;
  /** 0 on a CPU. */
  readonly multiprocessors: number;
}

/** How rows are taken by index. */
export interface GatherRowsPlan {
  readonly family: 'gather-rows';
  readonly kind: 'cuda' | 'cpu';
  readonly summary: string;
  readonly dtype: DType;
  readonly index: IndexDType;
}
