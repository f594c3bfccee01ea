import type { Reduction } from '@mercer/formula';
import type { MapReduceProblem } from '@mercer/kernels';
import type { Stream } from '../device.js';
import type { CallView } from '../operation/call-steps.js';
import type { PairInput, PairSizes } from './pair-inputs.js';
import type { CallRanges } from './range-tables.js';

/** Where the values and the row numbers of a reduction go: row-major (..batch, kept rows, dim), undefined where it gives none. */
export interface ReductionViews {
  readonly value: CallView | undefined;
  /** int32 */
  readonly index: CallView | undefined;
}

/** Reductions of formulas over the same pairs of rows, along one axis. */
export interface ReductionsCall extends Pick<
  MapReduceProblem,
  'accumulate' | 'sumScheme' | 'fastMath'
> {
  /** For messages. */
  readonly what: string;
  readonly reductions: readonly [Reduction, ...Reduction[]];
  readonly sizes: PairSizes;
  /** By place in the formulas; undefined where none of them has it. */
  readonly inputs: readonly (PairInput | undefined)[];
  /** By reduction. */
  readonly results: readonly ReductionViews[];
  /** The place of the reduction that gives each result of the call, by its place. */
  readonly reductionOf: readonly number[];
  /** Which rows meet, of the side that is kept; without it all. */
  readonly ranges: CallRanges | undefined;
  /** Where ranges are placed. */
  readonly stream: Stream | undefined;
  /**
   * Whether products on tensor cores may compute squared distances; `prepared` where they may in calls of other sizes with the same
   * kernels, for which the direct kernels are prepared beside them. Default false.
   */
  readonly products?: boolean | 'prepared' | undefined;
  /** What an error of the planner becomes for the caller; with the place of the reduction that was planned alone. */
  readonly refused: (error: unknown, place?: number) => unknown;
}

/** The formulas of reductions: those that are reduced, and the weights. */
export const formulasOf = (reductions: readonly Reduction[]): Reduction['formula'][] =>
  reductions.flatMap(({ formula, weight }) =>
    weight === undefined ? [formula] : [formula, weight],
  );
