import { tensor } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import { errorSummary } from './accuracy.js';
import { cellWork, type ReductionCell } from './cells.js';
import { DATA_SETS, type DataSet } from './data-sets.js';
import { kMeansErrors } from './operations/k-means-errors.js';
import { kMeansOperation } from './operations/k-means.js';
import { sizesOf, type FloatArray, type ResultArray } from './operations/operation.js';

const cell: ReductionCell = {
  operation: 'kMeans',
  dtype: 'float64',
  m: 40,
  n: 5,
  d: 2,
  batch: 2,
};

async function computed(
  of: ReductionCell,
  set: DataSet = 'normal',
): Promise<{ data: readonly FloatArray[]; results: ResultArray[] }> {
  const data = kMeansOperation.makeData(set, of);
  const operands = await Promise.all(
    kMeansOperation
      .operands(of)
      .map(({ shape }, i) =>
        tensor(data[i] ?? new Float64Array(0), { shape: [of.batch, ...shape], device: 'cpu' }),
      ),
  );
  const call = await kMeansOperation.prepare(of, operands);
  const out = await call.run();
  expect(out.map(({ shape }) => shape)).toEqual(
    kMeansOperation.results(of).map((shape) => [of.batch, ...shape]),
  );
  const results = await Promise.all(out.map((one) => one.toTypedArray()));
  // into the same memory, from the same centroids
  expect(await call.run(out)).toEqual(out);
  expect(await Promise.all(out.map((one) => one.toTypedArray()))).toEqual(results);
  call.dispose();
  return { data, results };
}

const most = (of: ReductionCell, data: readonly FloatArray[], results: ResultArray[]): number =>
  errorSummary(kMeansErrors(of, data, results)).max;

describe('kMeans', () => {
  it('is ten iterations by definition', async () => {
    const single = { ...cell, batch: 1 };
    const { data, results } = await computed(single);
    const [x = new Float64Array(0), y = new Float64Array(0)] = data;
    const rows = (of: ArrayLike<number>): number[][] =>
      Array.from({ length: of.length / 2 }, (_, i) => [of[2 * i] ?? NaN, of[2 * i + 1] ?? NaN]);
    const square = ([a = NaN, b = NaN]: number[], [p = NaN, q = NaN]: number[]): number =>
      (a - p) ** 2 + (b - q) ** 2;
    let [before, labels, after] = [rows(y), [] as number[], rows(y)];
    for (let i = 0; i < 10; i++) {
      before = after;
      labels = rows(x).map((point) => {
        const squares = before.map((centroid) => square(point, centroid));
        return squares.indexOf(Math.min(...squares));
      });
      after = before.map((old, r) => {
        const own = rows(x).filter((_, at) => labels[at] === r);
        const sum = (c: number): number => own.reduce((total, p) => total + (p[c] ?? NaN), 0);
        return own.length === 0 ? old : [sum(0) / own.length, sum(1) / own.length];
      });
    }
    expect([...(results[1] ?? [])]).toEqual(labels);
    for (const [which, wanted] of [
      [0, before],
      [2, after],
    ] as const) {
      wanted.flat().forEach((value, i) => {
        expect(results[which]?.[i]).toBeCloseTo(value, 12);
      });
    }
  });

  it.each(DATA_SETS)('is right on %s data in both data types', async (set) => {
    for (const dtype of ['float32', 'float64'] as const) {
      const of = { ...cell, dtype, m: 500, n: 20, d: 3 };
      const { data, results } = await computed(of, set);
      const found = kMeansErrors(of, data, results);
      expect(found.length).toBe(2 * (48 + 20));
      expect(errorSummary(found).max).toBeLessThan(30);
    }
  });

  it('leaves a centroid without points where it is', async () => {
    const of = { ...cell, m: 3, n: 5, batch: 1 };
    const { data, results } = await computed(of);
    expect(new Set(results[1]).size).toBeLessThan(5);
    expect(most(of, data, results)).toBeLessThan(30);
    const unused = [0, 1, 2, 3, 4].find((r) => !(results[1] as Int32Array).includes(r)) ?? NaN;
    expect(results[2]?.slice(2 * unused, 2 * unused + 2)).toEqual(
      data[1]?.slice(2 * unused, 2 * unused + 2),
    );
  });

  it('sees every wrong label and centroid, iterations left out, and labels of no centroid', async () => {
    const { data, results } = await computed(cell);
    expect(most(cell, data, results)).toBeLessThan(30);
    const [before, labels, after] = results as [FloatArray, Int32Array, FloatArray];
    labels.forEach((label, i) => {
      for (const wrong of [(label + 1) % 5, -1, 5]) {
        expect(most(cell, data, [before, labels.with(i, wrong), after])).toBeGreaterThan(1000);
      }
    });
    after.forEach((value, i) => {
      for (const wrong of [value + 0.1, NaN]) {
        expect(most(cell, data, [before, labels, after.with(i, wrong)])).toBeGreaterThan(1000);
      }
    });
    // the first iteration instead of the last is right by itself
    const one = lastIteration(data, cell);
    expect(most(cell, data, one)).toBe(Infinity);
    expect(() => kMeansErrors(cell, data, [before, labels])).toThrow(RangeError);
    expect(() => kMeansErrors(cell, data, [before, labels, labels])).toThrow(RangeError);
  });

  it('counts its work and bytes', () => {
    expect(cellWork(cell)).toBe(10 * 40 * 5 * 2 * 2);
    const { operandBytes, results } = sizesOf(kMeansOperation, cell);
    expect([operandBytes, results]).toEqual([2 * (40 + 5) * 2 * 8, 2 * (5 * 2 + 40 + 5 * 2)]);
  });
});

/** A single iteration from the first centroids. */
function lastIteration(
  [x = new Float64Array(0), y = new Float64Array(0)]: readonly FloatArray[],
  { m, n, d, batch }: ReductionCell,
): ResultArray[] {
  const labels = new Int32Array(batch * m);
  const after = new Float64Array(batch * n * d);
  const counts = new Float64Array(batch * n);
  for (let row = 0; row < batch * m; row++) {
    const first = Math.floor(row / m) * n;
    let least = Infinity;
    for (let r = 0; r < n; r++) {
      let square = 0;
      for (let c = 0; c < d; c++) {
        square += ((x[row * d + c] ?? NaN) - (y[(first + r) * d + c] ?? NaN)) ** 2;
      }
      if (square < least) [least, labels[row]] = [square, r];
    }
    const centroid = first + (labels[row] ?? NaN);
    counts[centroid] = (counts[centroid] ?? NaN) + 1;
    for (let c = 0; c < d; c++) {
      after[centroid * d + c] = (after[centroid * d + c] ?? NaN) + (x[row * d + c] ?? NaN);
    }
  }
  const means = after.map((sum, at) => {
    const count = counts[Math.floor(at / d)] ?? NaN;
    return count === 0 ? (y[at] ?? NaN) : sum / count;
  });
  return [y, labels, means];
}
