import { describe, expect, it } from 'vitest';
import { sampledError, sampleOf } from './accuracy.js';
import { cellBytes, cellName, FULL_GRID, gridCells, type Cell } from './cells.js';
import { DATA_SETS, makeOperands } from './data-sets.js';
import { floorOf, slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { commandLine } from './machine.js';
import { plainDistance, plainDistances } from './plain-distance.js';
import { logPlot } from './plot.js';
import { spreadOf } from './statistics.js';

const cell: Cell = { dtype: 'float32', p: 2, m: 1000, n: 2000, k: 64, batch: 1 };
const once = { median: 0.005, p10: 0.004, p90: 0.006, count: 9 };

describe('spreadOf', () => {
  it('interpolates between neighbours', () => {
    expect(spreadOf([4, 1, 3, 2, 5])).toEqual({ median: 3, p10: 1.4, p90: 4.6, count: 5 });
    expect(spreadOf([7])).toEqual({ median: 7, p10: 7, p90: 7, count: 1 });
    expect(() => spreadOf([])).toThrow(RangeError);
  });
});

describe('gridCells', () => {
  it('covers the published grid, small problems first', () => {
    const cells = gridCells(FULL_GRID);
    expect(cells.length).toBe(4 * 4 * 4 * 5 * 2);
    const work = cells.map(({ m, n, k, batch }) => m * n * k * batch);
    expect(work).toEqual([...work].sort((a, b) => a - b));
    expect(cellName(cell)).toBe('p=2 1000 x 2000 x 64');
    expect(cellName({ ...cell, p: Infinity, batch: 100, dtype: 'float64' })).toBe(
      'p=inf float64 100 x 1000 x 2000 x 64',
    );
    expect(cellBytes(cell)).toBe((3000 * 64 + 2_000_000) * 4);
  });
});

describe('makeOperands', () => {
  it.each(DATA_SETS)('%s is what it says, and the same every time', (set) => {
    const { a: data, b } = makeOperands(set, 'float64', 200, 100, 50);
    const a = Float64Array.from(data);
    expect(makeOperands(set, 'float64', 200, 100, 50).b).toEqual(b);
    const mean = a.reduce((sum, x) => sum + x, 0) / a.length;
    const spread = Math.sqrt(a.reduce((sum, x) => sum + (x - mean) ** 2, 0) / a.length);
    const uniform = set === 'uniform';
    expect(mean).toBeCloseTo({ normal: 0, uniform: 0.5, offset: 100, close: 0 }[set], 1);
    expect(spread).toBeCloseTo(uniform ? Math.sqrt(1 / 12) : 1, 1);
  });

  it('close holds duplicates and near duplicates', () => {
    const { a, b } = makeOperands('close', 'float64', 20, 40, 30);
    const d = plainDistances(b, a, 30, 2);
    const nearest = Array.from({ length: 40 }, (_, i) =>
      Math.min(...d.subarray(i * 20, (i + 1) * 20)),
    );
    expect(nearest.filter((x) => x === 0).length).toBe(10);
    expect(nearest.filter((x) => x > 0 && x < 0.01).length).toBe(10);
  });

  it('large operands are cut from a pool and keep their size and spread', () => {
    const { a: data } = makeOperands('normal', 'float32', 3000, 1, 1024);
    const a = Float32Array.from(data);
    expect(a.length).toBe(3000 * 1024);
    const square = a.subarray(0, 100_000).reduce((sum, x) => sum + x * x, 0) / 100_000;
    expect(square).toBeCloseTo(1, 1);
    expect(a.subarray(0, 1024)).not.toEqual(a.subarray(1024, 2048));
  });
});

describe('plainDistance', () => {
  it('is the norm of the difference', () => {
    expect(plainDistance([0, 0], 0, [3, 4], 0, 2, 2)).toBe(5);
    expect(plainDistance([0, 0], 0, [3, 4], 0, 2, 1)).toBe(7);
    expect(plainDistance([0, 0], 0, [3, 4], 0, 2, Infinity)).toBe(4);
    expect(plainDistance([0, 0], 0, [1, 1], 0, 2, 0.5)).toBeCloseTo(4, 12);
    expect(plainDistance([0, 0], 0, [3, 4], 0, 2, 2, true)).toBe(25);
    for (const p of [1, 1.3, 2, Infinity])
      expect(plainDistance([NaN, 0], 0, [1, 9], 0, 2, p)).toBeNaN();
  });
});

describe('sampledError', () => {
  const operands = makeOperands('normal', 'float32', 2 * 7, 2 * 9, 5);
  const problem = { dtype: 'float32', p: 2, m: 7, n: 9, k: 5 } as const;
  const rows = Array.from({ length: 14 }, (_, row) =>
    Array.from({ length: 9 }, (__, column) =>
      plainDistance(operands.a, row * 5, operands.b, (Math.floor(row / 7) * 9 + column) * 5, 5, 2),
    ),
  );
  const sample = sampleOf(14, 9);
  const picked = sample.rows.map((row) => rows[row] ?? []);

  it('samples the edges and finds no error in the truth, batch by batch', () => {
    expect([sample.rows[0], sample.rows.at(-1), sample.columns.length]).toEqual([0, 13, 9]);
    expect(sampledError(problem, operands, sample, picked)).toMatchObject({ max: 0, mean: 0 });
  });

  it('counts in units of rounding, and what should be 0 or is NaN as infinite', () => {
    const off = picked.map((row) => row.map((x) => x * (1 + 3 * 2 ** -24)));
    expect(sampledError(problem, operands, sample, off).max).toBeCloseTo(3, 2);
    const broken = picked.map((row, i) => (i === 0 ? row.map(() => NaN) : row));
    expect(sampledError(problem, operands, sample, broken).max).toBe(Infinity);
    const same = { a: operands.a, b: operands.a };
    const wrong = sampledError({ ...problem, n: 7 }, same, { rows: [0], columns: [0] }, [[1e-30]]);
    expect(wrong.max).toBe(Infinity);
  });
});

describe('floorOf', () => {
  const limits: DeviceLimitsReport = {
    device: 'cuda:0',
    deviceName: 'a GPU',
    cacheBytes: 0,
    limits: [
      { limit: 'fp32-add-fma', title: '', ms: once, pairsPerSecond: 1e13 },
      {
        limit: 'fp32-power-special',
        title: '',
        ms: once,
        pairsPerSecond: 2e12,
        specialPerSecond: 4e12,
      },
      { limit: 'fp32-power-mixed', title: '', ms: once, pairsPerSecond: 2.5e12 },
      { limit: 'copy', title: '', ms: once, bytesPerSecond: 4e12 },
      { limit: 'launch', title: '', ms: once },
    ],
  };

  it('is the largest of arithmetic, memory and launch', () => {
    const large = { ...cell, m: 30000, n: 30000, k: 1024 };
    expect(floorOf(large, limits)).toMatchObject({ kind: 'issue' });
    expect(floorOf(large, limits)?.ms).toBeCloseTo((9e8 * 1024) / 1e10, 6);
    expect(floorOf({ ...large, p: 1.3 }, limits)?.ms).toBeCloseTo((9e8 * 1024) / 2.5e9, 6);
    expect(floorOf({ ...large, p: 0.5 }, limits)?.ms).toBeCloseTo((9e8 * 1024) / 4e9, 6);
    expect(floorOf({ ...large, k: 1 }, limits)).toMatchObject({ kind: 'bandwidth' });
    const cached = { ...limits, cacheBytes: 1e12 };
    expect(floorOf({ ...large, k: 1 }, cached)).toMatchObject({ kind: 'issue' });
    expect(floorOf({ ...cell, m: 1, n: 1 }, limits)).toEqual({ kind: 'launch', ms: 0.005 });
  });

  it('takes half of the multiply-add rate on a CPU and has no floor for what no loop measures', () => {
    const cpu = {
      ...limits,
      device: 'cpu',
      limits: [{ limit: 'cpu-fp32-fma', title: '', ms: once, pairsPerSecond: 1e11 }],
    };
    expect(floorOf(cell, cpu)?.ms).toBeCloseTo((2e6 * 64) / 0.5e8, 9);
    expect(floorOf({ ...cell, p: 1.3 }, cpu)).toBeUndefined();
    expect(floorOf({ ...cell, dtype: 'float64', p: 1.3 }, limits)).toBeUndefined();
  });

  it('gives a reason for every slow cell', () => {
    const small = { ...cell, m: 1, n: 1 };
    const issue = { kind: 'issue', ms: 1 } as const;
    const launch = { kind: 'launch', ms: 1 } as const;
    expect(slowReason(small, launch, 1000, 1)).toMatch(/1 distances of 64 terms/);
    expect(slowReason(cell, issue, 1000, 0.4)).toMatch(/2\.5 times the least launch/);
    expect(slowReason(small, issue, 1000, 0.01)).toMatch(/cannot occupy 1000/);
    expect(slowReason({ ...cell, m: 3 }, issue, 10, 0.01)).toMatch(/a side of 3/);
    expect(slowReason({ ...cell, k: 3 }, issue, 10, 0.01)).toMatch(/inner axis of 3/);
    expect(slowReason(cell, issue, 10, 0.01)).toMatch(/unexplained/);
  });
});

describe('logPlot', () => {
  it('draws positive points, escapes names and needs nothing else', () => {
    const points = [
      { x: 10, y: 1 },
      { x: 1000, y: 0.01 },
      { x: 0, y: 5 },
      { x: 5, y: NaN },
    ];
    const svg = logPlot('<t>', 'x', 'y', [
      { name: 'a & b', points, group: 0, style: 'own' },
      { name: 'floor', points, group: 0, style: 'limit' },
      { name: 'nothing', points: [], group: 1, style: 'peer' },
    ]);
    expect(svg).toContain('&lt;t&gt;');
    expect(svg).toContain('a &amp; b');
    expect(svg).not.toContain('nothing');
    expect(svg).not.toMatch(/NaN|Infinity|undefined|<script|href/);
    expect(svg.match(/<circle/g)?.length).toBe(2 + 1);
    expect(logPlot('empty', 'x', 'y', [])).not.toMatch(/NaN|Infinity/);
  });
});

describe('commandLine', () => {
  it('quotes what a shell would take apart', () => {
    expect(commandLine(['node', 'mercer.js', 'bench', '--out', "a 'b'.json"])).toBe(
      `mercer bench --out 'a '\\''b'\\''.json'`,
    );
  });
});
