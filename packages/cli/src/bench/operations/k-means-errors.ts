import { LLOYD_ITERATIONS, roundingUnit, type ReductionCell } from '../cells.js';
import { evenlySpread } from '../statistics.js';
import type { FloatArray, ResultArray } from './operation.js';
import { largest } from './residuals.js';
import { checkedRows, neighbourErrors, squaredDistance } from './reduction-errors.js';

/** One batch entry: points, first centroids, and what the last iteration started from, chose and made. */
interface Run {
  readonly x: FloatArray;
  readonly y: FloatArray;
  readonly before: ResultArray;
  readonly labels: ResultArray;
  readonly after: ResultArray;
}

const MOST_CENTROIDS = 48;
/** Pairs of components up to which all iterations are computed again: a second or less. */
const MOST_COMPONENTS = 3e8;
/** A label that another rounding chose moves the inertia; so much only a wrong iteration does. */
const INERTIA_TOLERANCE = 0.02;

/**
 * Of the last iteration, in units of rounding: sampled labels by the distance to the centroid that they name (as the nearest
 * neighbours are judged), and sampled centroids as means of the points with their label, relative to the mean of the magnitudes.
 * Another rounding may choose another of two centroids that are equally near, and all later iterations differ then; so the
 * iterations before are judged by the inertia alone: where computing them in float64 is quick, all errors are NaN if
 * the inertias differ by more than a fiftieth. They are NaN, too, where a label names no centroid.
 */
export function kMeansErrors(
  cell: ReductionCell,
  [x, y]: readonly FloatArray[],
  [before, labels, after]: readonly ResultArray[],
): readonly number[] {
  const { m, n, d, batch } = cell;
  if (!x || !y || !before || !labels || !after) {
    throw new RangeError('kMeans has two operands and three results');
  }
  const sizes = [before.length, labels.length, after.length];
  if (sizes.join() !== [batch * n * d, batch * m, batch * n * d].join()) {
    throw new RangeError(
      `kMeans: results of ${sizes.join(', ')} numbers for ${m} points and ${n} centroids`,
    );
  }
  return Array.from({ length: batch }, (_, entry) => {
    const part = <A extends FloatArray | ResultArray>(values: A, size: number): A =>
      values.subarray(entry * size, (entry + 1) * size) as A;
    const run: Run = {
      x: part(x, m * d),
      y: part(y, n * d),
      before: part(before, n * d),
      labels: part(labels, m),
      after: part(after, n * d),
    };
    const errors = [...labelErrors(cell, run), ...centroidErrors(cell, run)];
    const isRight = run.labels.every((r) => r >= 0 && r < n) && hasRightInertia(cell, run);
    const unit = isRight ? roundingUnit(cell) : NaN;
    return errors.map((error) => error / unit);
  }).flat();
}

function labelErrors(cell: ReductionCell, { x, before, labels }: Run): number[] {
  const { d } = cell;
  const y = Float64Array.from(before);
  return checkedRows({ ...cell, batch: 1 }).map((row) => {
    const got = labels.subarray(row, row + 1);
    return neighbourErrors({ cell, x: x.subarray(row * d, (row + 1) * d), y, b: y, got });
  });
}

function centroidErrors({ n, d }: ReductionCell, { x, before, labels, after }: Run): number[] {
  const means = meansOf(x, labels, before, n, d);
  return evenlySpread(n, MOST_CENTROIDS).map((row) => {
    const errors = Array.from({ length: d }, (_, c) => {
      const at = row * d + c;
      const [value = NaN, scale = NaN, got = NaN] = [means.values[at], means.scales[at], after[at]];
      return got === value ? 0 : Math.abs(got - value) / scale;
    });
    return largest(errors);
  });
}

/** The mean of the points of each label, and of their magnitudes; the old centroid where there are none. */
function meansOf(
  x: FloatArray,
  labels: ResultArray,
  old: ResultArray,
  n: number,
  d: number,
): { readonly values: Float64Array; readonly scales: Float64Array } {
  const [values, scales] = [new Float64Array(n * d), new Float64Array(n * d)];
  const counts = new Float64Array(n);
  labels.forEach((label, row) => {
    counts[label] = (counts[label] ?? NaN) + 1;
    for (let c = 0; c < d; c++) {
      const [at, value] = [label * d + c, x[row * d + c] ?? NaN];
      values[at] = (values[at] ?? NaN) + value;
      scales[at] = (scales[at] ?? NaN) + Math.abs(value);
    }
  });
  for (let at = 0; at < n * d; at++) {
    const count = counts[Math.floor(at / d)] ?? NaN;
    values[at] = count === 0 ? (old[at] ?? NaN) : (values[at] ?? NaN) / count;
    scales[at] = count === 0 ? 0 : (scales[at] ?? NaN) / count;
  }
  return { values, scales };
}

/** Whether the last labels leave about as much as those of the same iterations in float64. */
function hasRightInertia({ m, n, d }: ReductionCell, run: Run): boolean {
  if (m * n * d * LLOYD_ITERATIONS > MOST_COMPONENTS) return true;
  let centroids: Float64Array = Float64Array.from(run.y);
  let labels = new Int32Array(m);
  let truth = 0;
  for (let i = 0; i < LLOYD_ITERATIONS; i++) {
    labels = labels.map((_, row) => nearest(run.x.subarray(row * d, (row + 1) * d), centroids, n));
    truth = inertia(run.x, centroids, labels, d);
    centroids = meansOf(run.x, labels, centroids, n, d).values;
  }
  const found = inertia(run.x, Float64Array.from(run.before), run.labels, d);
  return Math.abs(found - truth) <= INERTIA_TOLERANCE * truth;
}

function nearest(point: FloatArray, centroids: Float64Array, n: number): number {
  let [best, least] = [0, Infinity];
  for (let j = 0; j < n; j++) {
    const square = squaredDistance(point, centroids, j);
    if (square < least) [best, least] = [j, square];
  }
  return best;
}

/** The sum of squared distances to the centroids that labels name. */
function inertia(x: FloatArray, centroids: Float64Array, labels: ResultArray, d: number): number {
  let total = 0;
  for (let row = 0; row < labels.length; row++) {
    total += squaredDistance(x.subarray(row * d, (row + 1) * d), centroids, labels[row] ?? -1);
  }
  return total;
}
