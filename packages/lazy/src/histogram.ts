import { describeList, describeValue, type OptionNames } from '@mercer/options';
import { REDUCE_OPTIONS } from './call-options.js';
import { LazyError } from './lazy-error.js';
import type { LazyFormula, LazyOperand } from './lazy-formula.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import type { LazyOperations } from './lazy-operations.js';
import type { OutDType, OutDTypeOption, ReduceOptions } from './reduction-types.js';
import type { Tensor } from '@mercer/tensor';

/** Options of `histogram`. */
export interface HistogramOptions<D extends OutDType = LazyDType> extends ReduceOptions<Tensor<D>> {
  /** How many bins of equal width, up to 2^24. Time does not grow with them, but on a GPU where few rows are kept; memory does, for every kept row. */
  readonly bins: number;
  /** Where the first bin begins and the last one ends. */
  readonly range: readonly [low: number, high: number];
  /** What a pair counts, of dim 1. Default: 1. */
  readonly weight?: LazyOperand | undefined;
}

/** Whole numbers of float32, which is what places are computed in. */
const MOST_BINS = WHOLE_UP_TO.float32;

/** Names of {@link HistogramOptions}. */
export const HISTOGRAM_OPTIONS: OptionNames<HistogramOptions & OutDTypeOption> = {
  ...REDUCE_OPTIONS,
  bins: true,
  range: true,
  weight: true,
};

/**
 * What every pair adds to every bin, a sum of vectors that have one component each: kernels add to that component alone, in the order of the
 * reduced rows. The last bin has its upper edge; values outside and NaN count nowhere (numpy.histogram).
 *
 * @throws LazyError
 */
export function binCounts<X extends LazyFormula & LazyOperations>(
  x: X,
  { bins, range, weight = 1 }: Pick<HistogramOptions, 'bins' | 'range' | 'weight'>,
): X {
  checkBins(x.dim, bins, range);
  const [low, high] = range;
  const width = (high - low) / bins;
  const last = bins - 1;
  const near = x.sub(low).div(width).floor().clamp(0, last);
  // A quotient beside an edge may be rounded over it: the edges themselves decide.
  const above = near.sub(x.lt(near.mul(width).add(low)));
  const bin = above.add(x.ge(above.add(1).mul(width).add(low))).clamp(0, last);
  const inside = x.ge(low).mul(x.le(high));
  return inside.where(bin, -1).oneHot(bins).where(weight, 0);
}

function checkBins(dim: number, bins: number, range: unknown): void {
  if (dim !== 1) {
    throw new LazyError(
      'DIM_MISMATCH',
      `histogram: the values have dim ${dim}. Pass one number for every pair: take elem(k), or norm2().`,
    );
  }
  if (!Number.isSafeInteger(bins) || bins < 1 || bins > MOST_BINS) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `histogram: bins is ${describeValue(bins)}. Pass an integer from 1 to ${MOST_BINS}.`,
    );
  }
  const [low, high] = Array.isArray(range) ? (range as unknown[]) : [];
  if (Number.isFinite(low) && Number.isFinite(high) && Number(low) < Number(high)) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `histogram: the range is ${range === undefined ? 'missing' : describeList(range)}. Pass [low, high], two finite numbers, the first smaller.`,
  );
}
