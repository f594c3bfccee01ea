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

/** At most `count` indices below `extent`, evenly spread, the first and the last among them. */
export function evenlySpread(extent: number, count: number): number[] {
  const most = Math.min(extent, count);
  return Array.from({ length: most }, (_, i) =>
    Math.round((i * (extent - 1)) / Math.max(1, most - 1)),
  );
}

function quantile(sorted: readonly number[], share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return low + (high - low) * (position - below);
}
