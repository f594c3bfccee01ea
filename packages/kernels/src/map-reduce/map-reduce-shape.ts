import { dtypeBytes, type PairwiseDType } from '../dtype.js';
import type { RangeRows } from './problem.js';

/** What decides how the rows are cut. */
export interface MapReduceShape {
  readonly dtype: PairwiseDType;
  /** Numbers of the data type that a running result takes in a workspace, and bytes of it as a structure at most. */
  readonly accumulators: number;
  readonly stateBytes: number;
  /** Components of a running result that rests in memory. */
  readonly bins?: number | undefined;
  /** Whether it is a list of the K best. */
  readonly ranked: boolean;
  readonly operations: number;
  /** Operations of a pair, each as often as it has instructions, where those are many. */
  readonly instructions: number;
  /** Components of the inputs of the kept side, and of the reduced side. */
  readonly own: number;
  readonly other: number;
  /** Components of the inputs with values of pairs. */
  readonly pairs: number;
  /** Kept rows of all batch entries, and rows that each reduces. */
  readonly rows: number;
  readonly batch: number;
  readonly terms: number;
  /** Whether the reduced rows may be seen in parts. */
  readonly mergeable: boolean;
  /** Kept rows of a block at most, where ranges have few. */
  readonly blockRows: RangeRows | undefined;
  /** Whether one thread must see all rows that a kept row is reduced over, in order. */
  readonly whole: boolean;
}

/** The largest power of two of rows of the reduced side that fits, from `least` up. */
export function tileOf(
  { dtype, other }: Pick<MapReduceShape, 'dtype' | 'other'>,
  bytes: number,
  most: number,
  least = 16,
): number {
  const rows = bytes / (Math.max(1, other) * dtypeBytes(dtype));
  return Math.max(least, Math.min(most, 2 ** Math.floor(Math.log2(rows))));
}
