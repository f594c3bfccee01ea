import type { KeptRanges } from './ranges.js';

/** How many pairs of rows ranges hold, a row and each that it meets. Ranges that do not fit the rows are not refused. */
export function pairsInRanges({ rangesI, slicesI, redrangesJ }: KeptRanges): number {
  let pairs = 0;
  for (const [k, [start, end]] of rangesI.entries()) {
    const met = redrangesJ.slice(slicesI[k - 1] ?? 0, slicesI[k]);
    pairs += (end - start) * met.reduce((rows, [from, until]) => rows + until - from, 0);
  }
  return pairs;
}
