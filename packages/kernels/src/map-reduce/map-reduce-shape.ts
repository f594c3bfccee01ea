import { dtypeBytes } from '../dtype.js';
import type { PairwiseDType } from '../pairwise/problem.js';

/** What decides how the rows are cut. */
export interface MapReduceShape {
  readonly dtype: PairwiseDType;
  /** Members of a running result. */
  readonly slots: number;
  /** Whether it is a list of the K best. */
  readonly ranked: boolean;
  readonly operations: number;
  /** Components of the inputs of the kept side, and of the reduced side. */
  readonly own: number;
  readonly other: number;
  /** Kept rows of all batch entries, and rows that each reduces. */
  readonly rows: number;
  readonly batch: number;
  readonly terms: number;
  /** Whether the reduced rows may be seen in parts. */
  readonly mergeable: boolean;
}

/** The largest power of two of rows of the reduced side that fits, from 16 up. */
export function tileOf(
  { dtype, other }: Pick<MapReduceShape, 'dtype' | 'other'>,
  bytes: number,
  most: number,
): number {
  const rows = bytes / (Math.max(1, other) * dtypeBytes(dtype));
  return Math.max(16, Math.min(most, 2 ** Math.floor(Math.log2(rows))));
}
