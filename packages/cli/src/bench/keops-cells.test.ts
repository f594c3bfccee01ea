import { describe, expect, it } from 'vitest';
import { cellName, cellWork, groupByOperands, REDUCTION_NAMES } from './cells.js';
import { keopsCells, keopsCurves } from './keops-cells.js';

describe('keopsCells', () => {
  it('takes the shapes that KeOps was measured at on a GPU, and small ones on a CPU', () => {
    const names = keopsCells({ kind: 'cuda' }).map(cellName);
    expect(names.length).toBe(13 + 1 + 1 + 3 + 4 + 1 + 1);
    expect(new Set(names).size).toBe(names.length);
    for (const name of [
      'gaussianSum 1000000 x 1000000, D = 3',
      'gaussianSum float64 100000 x 100000, D = 3',
      'gaussianSum 10000 x 10000, D = 1000',
      'nearest 10000 x 1000000, D = 100, k = 10',
      'kMeansAssignment 1000000 x 1000, D = 10',
      'kMeans 1000000 x 1000, D = 10',
    ]) {
      expect(names).toContain(name);
    }
    const small = keopsCells({});
    expect(new Set(small.map(({ operation }) => operation)).size).toBe(REDUCTION_NAMES.length);
    for (const cell of small) expect(cellWork(cell)).toBeLessThan(3e9);
    expect(small.map(cellWork)).toEqual(small.map(cellWork).sort((a, b) => a - b));
    expect(groupByOperands(small).length).toBe(small.length);
  });

  it('is narrowed by operations and dtypes', () => {
    const cells = keopsCells({ kind: 'cuda', operations: ['nearest'], dtype: ['float64'] });
    expect(cells.length).toBe(4);
    for (const cell of cells) expect(cell).toMatchObject({ dtype: 'float64', k: 10, m: 1e4 });
    const both = keopsCells({ operations: ['gaussianSum'], dtype: ['float32', 'float64'] });
    expect(new Set(both.map(cellName)).size).toBe(both.length); // float64 is known of one of them
  });

  it('takes every combination of the points and dimensions that are named', () => {
    const cells = keopsCells({ n: [50, 2000], d: [3, 7], operations: ['nearest', 'gaussianSum'] });
    expect(cells.map(cellName)).toEqual([
      'nearest 50 x 50, D = 3, k = 10',
      'gaussianSum 50 x 50, D = 3',
      'nearest 50 x 50, D = 7, k = 10',
      'gaussianSum 50 x 50, D = 7',
      'nearest 1000 x 2000, D = 3, k = 10',
      'gaussianSum 2000 x 2000, D = 3',
      'nearest 1000 x 2000, D = 7, k = 10',
      'gaussianSum 2000 x 2000, D = 7',
    ]);
    expect(keopsCells({ d: [5], operations: ['kMeansAssignment'] })).toEqual([
      { operation: 'kMeansAssignment', dtype: 'float32', m: 1e4, n: 100, d: 5, batch: 1 },
    ]);
  });
});

describe('keopsCurves', () => {
  it("runs along the points with the dimensions of KeOps' figures", () => {
    for (const kind of ['cpu', 'cuda'] as const) {
      const cells = keopsCurves({ kind });
      const dims = { gaussianSum: 3, kMeans: 10, nearest: 100 };
      expect(new Set(cells.map(({ operation }) => operation))).toEqual(new Set(Object.keys(dims)));
      for (const { operation, m, n, d } of cells) {
        expect(d).toBe(dims[operation as keyof typeof dims]);
        if (operation === 'gaussianSum') expect(m).toBe(n);
        if (operation === 'kMeans') expect(n).toBe(Math.round(Math.sqrt(m)));
        if (operation === 'nearest') expect(m).toBeLessThanOrEqual(n);
      }
    }
    expect(
      keopsCurves({ n: [64], operations: ['kMeans', 'kMeansAssignment', 'logSumExp'] }).map(
        cellName,
      ),
    ).toEqual([
      'kMeansAssignment 64 x 8, D = 10',
      'logSumExp 64 x 64, D = 3',
      'kMeans 64 x 8, D = 10',
    ]);
  });
});
