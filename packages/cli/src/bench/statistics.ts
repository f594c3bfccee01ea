/** Middle and spread of repeated timings. */
export interface Spread {
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly count: number;
}

/** Median, tenth and ninetieth percentile, interpolated between neighbours. Throws RangeError for an empty list. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) {
    throw new RangeError('Cannot summarise the timings: there are none. Measure at least once.');
  }
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    p10: quantile(sorted, 0.1),
    p90: quantile(sorted, 0.9),
    count: sorted.length,
  };
}

function quantile(sorted: readonly number[], share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return low + (high - low) * (position - below);
}
