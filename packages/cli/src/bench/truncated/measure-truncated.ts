import {
  lazyI,
  lazyJ,
  tensor,
  truncatedRanges,
  type Device,
  type LazyTensor,
  type Tensor,
  type TruncatedRanges,
} from '@mercer/core';
import { hashedNumbers } from '../autodiff/hashed-numbers.js';
import { evenlySpread, spreadOf, type Spread } from '../statistics.js';
import { measureCalls } from '../timer.js';

/** What `mercer bench truncated` measures: a Gaussian sum of uniform points in the unit cube, at each bandwidth. */
export interface TruncatedProblem {
  readonly points: number;
  readonly dimensions: number;
  readonly bandwidths: readonly number[];
  /** What a pair that is left out may count at most. */
  readonly error: number;
}

/** A bandwidth. */
export interface TruncatedRow {
  readonly points: number;
  readonly dimensions: number;
  readonly bandwidth: number;
  /** Beyond it a pair counts less than the error that was asked for. */
  readonly cutoff: number;
  /** Rows of a cluster. */
  readonly clusterRows: number;
  readonly pairsWithin: number;
  readonly pairsKept: number;
  /** Pairs kept by pairs within the cutoff. */
  readonly pairsRatio: number;
  /** Milliseconds of the sum over the pairs that are kept, and of that over all. */
  readonly ms: Spread;
  readonly wholeMs: Spread;
  /** Milliseconds until clusters and ranges are made. */
  readonly rangesMs: Spread;
  /** The time of the sum by that of the whole, and by the share of the pairs that it has: 1 where a pair takes as long. */
  readonly timeShare: number;
  readonly timeByPairs: number;
  /** The largest difference from the whole sum in float64 over sampled rows, by the sum of the weights' magnitudes. */
  readonly error: number;
  /** The same of the whole sum, which rounds too. */
  readonly wholeError: number;
  readonly plan: string;
}

const CHECKED_ROWS = 40;
const RANGES_MADE = 3;
const MAX_SECONDS = 5;

/** Measures every bandwidth; `onProgress` hears of each. */
export async function measureTruncated(
  device: Device,
  { points, dimensions, bandwidths, error }: TruncatedProblem,
  onProgress: (bandwidth: number) => void,
): Promise<readonly TruncatedRow[]> {
  const a = hashedNumbers(points * dimensions, 3, [0, 1]);
  const b = hashedNumbers(points, 4, [-1, 1]);
  using x = await tensor(a, { shape: [points, dimensions], device });
  using weights = await tensor(b, { shape: [points, 1], device });
  const rows: TruncatedRow[] = [];
  for (const bandwidth of bandwidths) {
    onProgress(bandwidth);
    const made = async (): Promise<TruncatedRanges<'float32'>> => {
      const near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth, error });
      await device.defaultStream.synchronize();
      return near;
    };
    // the first call compiles
    using near = await made();
    const times: number[] = [];
    for (let n = 0; n < RANGES_MADE; n++) {
      const start = performance.now();
      (await made()).dispose();
      times.push(performance.now() - start);
    }
    const gaussian = (of: Tensor<'float32'>, by: Tensor<'float32'>): LazyTensor<'float32'> =>
      lazyI(of)
        .sqdist(lazyJ(of))
        .mul(-1 / (2 * bandwidth ** 2))
        .exp()
        .mul(lazyJ(by));
    using sorted = await near.sortJ(weights);
    const { ranges, cutoff, pairs } = near;
    using kept = await gaussian(near.x, sorted).reduction('Sum', 'j').prepare([], { ranges });
    using whole = await gaussian(x, weights).reduction('Sum', 'j').prepare([]);
    const ms = spreadOf(await measureCalls(device, MAX_SECONDS, () => kept([]).dispose()));
    const wholeMs = spreadOf(await measureCalls(device, MAX_SECONDS, () => whole([]).dispose()));
    using found = kept([]);
    using inOrder = await near.restore(found);
    using all = whole([]);
    const truth = trueSums({ a, b, dimensions, bandwidth });
    const pairsWithin = await countWithin(near.x, cutoff);
    const share = pairs / points ** 2;
    const timeShare = ms.median / wholeMs.median;
    rows.push({
      points,
      dimensions,
      bandwidth,
      cutoff,
      clusterRows: ranges.rangesI[0]?.[1] ?? 0,
      pairsWithin,
      pairsKept: pairs,
      pairsRatio: pairs / pairsWithin,
      ms,
      wholeMs,
      rangesMs: spreadOf(times),
      timeShare,
      timeByPairs: timeShare / share,
      error: worst(await inOrder.toTypedArray(), truth),
      wholeError: worst(await all.toTypedArray(), truth),
      plan: kept.plan.summary,
    });
  }
  return rows;
}

/** How many pairs lie within the cutoff, counted one by one. */
async function countWithin(x: Tensor<'float32'>, cutoff: number): Promise<number> {
  using counts = await lazyI(x)
    .sqdist(lazyJ(x))
    .le(cutoff ** 2)
    .sum('j');
  const numbers = await counts.toTypedArray();
  return numbers.reduce((sum, one) => sum + one, 0);
}

interface Sums {
  readonly size: number;
  readonly rows: readonly { readonly row: number; readonly value: number }[];
}

/** Sampled rows of the whole sum in float64. */
function trueSums({
  a,
  b,
  dimensions,
  bandwidth,
}: {
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly dimensions: number;
  readonly bandwidth: number;
}): Sums {
  const rows = evenlySpread(b.length, CHECKED_ROWS).map((row) => {
    let value = 0;
    for (let j = 0; j < b.length; j++) {
      let square = 0;
      for (let axis = 0; axis < dimensions; axis++) {
        square += ((a[row * dimensions + axis] ?? NaN) - (a[j * dimensions + axis] ?? NaN)) ** 2;
      }
      value += Math.exp(-square / (2 * bandwidth ** 2)) * (b[j] ?? NaN);
    }
    return { row, value };
  });
  return { size: b.reduce((sum, one) => sum + Math.abs(one), 0), rows };
}

const worst = (found: Float32Array, { size, rows }: Sums): number =>
  rows.reduce((most, { row, value }) => Math.max(most, Math.abs((found[row] ?? NaN) - value)), 0) /
  size;
