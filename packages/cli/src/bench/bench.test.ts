import { describe, expect, it } from 'vitest';
import { sampledError, sampleOf } from './accuracy.js';
import { cellName, cellWork, OPERATION_NAMES, type Cell } from './cells.js';
import { DATA_SETS, makeOperands } from './data-sets.js';
import { floorOf, slowReason } from './floor.js';
import { FULL_GRID, gridCells } from './grid.js';
import { kermacCells } from './kermac-cells.js';
import type { DeviceLimitsReport } from './limits.js';
import { commandLine } from './machine.js';
import { sizesOf } from './operations/operation.js';
import { OPERATIONS, operationOf } from './operations/operations.js';
import { pairsPerSecond } from './operations/rates.js';
import { plainDistance, plainDistances } from './plain-distance.js';
import { logPlot } from './plot.js';
import { spreadOf } from './statistics.js';

const cell: Cell = {
  operation: 'cdist',
  dtype: 'float32',
  p: 2,
  m: 1000,
  n: 2000,
  k: 64,
  batch: 1,
};
const gradient: Cell = { ...cell, operation: 'weightedDifferences', o: 10 };
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
    expect(cellName(gradient)).toBe('weightedDifferences p=2 1000 x 2000 x 10 x 64');
  });
});

describe('sizesOf', () => {
  it('counts what an operation reads, writes and adds up', () => {
    expect(sizesOf(operationOf(cell), { ...cell, batch: 3 })).toEqual({
      rows: 1000,
      columns: 2000,
      results: 6_000_000,
      operandBytes: 3 * 3000 * 64 * 4,
      bytes: 3 * (3000 * 64 + 2_000_000) * 4,
      work: 3 * 1000 * 2000 * 64,
    });
    const [a, b, c, d] = [64 * 1000, 2000 * 64, 10 * 64, 2000 * 1000];
    expect(sizesOf(operationOf(gradient), gradient)).toEqual({
      rows: 20_000,
      columns: 1000,
      results: 20_000_000,
      operandBytes: (a + b + c + d) * 4,
      bytes: (a + b + c + d + 20_000_000) * 4,
      work: 10 * 1000 * 2000 * 64,
    });
  });
});

describe('kermacCells', () => {
  it('takes the shapes that others were measured at on a GPU, small ones on a CPU', () => {
    const names = kermacCells({ kind: 'cuda' }).map(cellName);
    expect(names.length).toBe(3 + 1 + 1 + 1 + 1 + 4 * 3);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('exponential p=2 30000 x 30000 x 1024');
    expect(names).toContain('weightedDifferences p=1.3 1000 x 1000 x 10 x 10000');
    for (const small of kermacCells({ kind: 'cpu' })) expect(cellWork(small)).toBeLessThan(1e9);
    expect(kermacCells({ kind: 'cpu', operations: ['minkowski'] }).map(cellName)).toEqual([
      'minkowski p=1.3 1000 x 1000 x 64',
    ]);
  });

  it('adds the grid, or takes the part of it whose axes are named', () => {
    const whole = kermacCells({ kind: 'cuda', grid: true });
    expect(whole.length).toBeGreaterThan(10 * 4 * 4 * 5 * 2);
    const part = kermacCells({ kind: 'cuda', axes: { m: [7], n: [9], k: [3], batch: [1, 2] } });
    expect(part.length).toBe(2 * (3 + 1 + 1 + 1 + 1 + 3));
    expect(
      part
        .filter(({ operation }) => operation === 'weightedDifferences')
        .every(({ o }) => o === 16),
    ).toBe(true);
    expect(part.map(cellWork)).toEqual(part.map(cellWork).sort((a, b) => a - b));
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
  const problem: Cell = { ...cell, m: 7, n: 9, k: 5, batch: 2 };
  const data = [operands.a, operands.b];
  const rows = Array.from({ length: 14 }, (_, row) =>
    Array.from({ length: 9 }, (__, column) =>
      plainDistance(operands.a, row * 5, operands.b, (Math.floor(row / 7) * 9 + column) * 5, 5, 2),
    ),
  );
  const sample = sampleOf(14, 9);
  const picked = sample.rows.map((row) => rows[row] ?? []);

  it('samples the edges and finds no error in the truth, batch by batch', () => {
    expect([sample.rows[0], sample.rows.at(-1), sample.columns.length]).toEqual([0, 13, 9]);
    expect(sampledError(problem, data, sample, picked)).toMatchObject({ max: 0, mean: 0 });
  });

  it('counts in units of rounding, and what should be 0 or is NaN as infinite', () => {
    const off = picked.map((row) => row.map((x) => x * (1 + 3 * 2 ** -24)));
    expect(sampledError(problem, data, sample, off).max).toBeCloseTo(3, 2);
    const broken = picked.map((row, i) => (i === 0 ? row.map(() => NaN) : row));
    expect(sampledError(problem, data, sample, broken).max).toBe(Infinity);
    const same = [operands.a, operands.a];
    const wrong = sampledError({ ...problem, n: 7 }, same, { rows: [0], columns: [0] }, [[1e-30]]);
    expect(wrong.max).toBe(Infinity);
  });
});

describe('OPERATIONS', () => {
  it.each(OPERATION_NAMES)('%s: its truth is what its formula says', (operation) => {
    const tiny: Cell = { ...cell, operation, dtype: 'float64', p: 1.3, m: 3, n: 4, k: 5, batch: 2 };
    const problem = operation === 'weightedDifferences' ? { ...tiny, o: 2 } : tiny;
    const { truth, makeData, operands, text, parameters } = OPERATIONS[operation];
    expect(text).toMatch(/\w/);
    const data = makeData('normal', problem);
    const read = (name: string, entry: number, row: number, column: number): number => {
      const i = operands(problem).findIndex((operand) => operand.name === name);
      const [rows = 0, columns = 0] = operands(problem)[i]?.shape ?? [];
      expect(data[i]?.length).toBe(2 * rows * columns);
      return data[i]?.[(entry * rows + row) * columns + column] ?? NaN;
    };
    const ks = [0, 1, 2, 3, 4];
    if (operation === 'weightedDifferences') {
      const terms = ks.map((k) => {
        const delta = read('d', 1, 3, 2) - read('b', 1, 3, k);
        return read('c', 1, 1, k) * read('a', 1, k, 2) * Math.sign(delta) * Math.abs(delta) ** 0.3;
      });
      const { value, scale } = truth(problem, data, 1, 1 * 4 + 3, 2);
      expect(value).toBeCloseTo(
        terms.reduce((sum, x) => sum + x, 0),
        12,
      );
      expect(scale).toBeCloseTo(
        terms.reduce((sum, x) => sum + Math.abs(x), 0),
        12,
      );
      return;
    }
    const sum = ks.reduce(
      (total, k) => total + Math.abs(read('a', 1, 2, k) - read('b', 1, 3, k)) ** 1.3,
      0,
    );
    const d = sum ** (1 / 1.3);
    const h = parameters?.(problem)['bandwidth'] ?? NaN;
    const want = {
      cdist: d,
      minkowski: d,
      laplace: Math.exp(-d / h),
      exponential: Math.exp(-d / h),
      gaussian: Math.exp((-d * d) / (2 * h * h)),
    }[operation];
    expect(truth(problem, data, 1, 2, 3).value).toBeCloseTo(want, 12);
  });

  it('takes 0 where a difference is 0, whatever p is', () => {
    const tiny: Cell = { ...gradient, p: 0.5, m: 1, n: 1, k: 1, o: 1 };
    const one = Float32Array.of(1);
    expect(OPERATIONS.weightedDifferences.truth(tiny, [one, one, one, one], 0, 0, 0)).toEqual({
      value: 0,
      scale: 0,
    });
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

  it('has the loop of every norm, and none for products of roots and higher powers', () => {
    const loops = {
      'fp32-add-add': 1.5e13,
      'fp32-fma-add': 1.6e13,
      'fp32-add-max': 1.2e13,
      'fp32-fma': 3e13,
      'fp64-add-fma': 7e12,
      'fp64-add-max': 4e12,
    };
    const rates: DeviceLimitsReport = {
      ...limits,
      limits: [
        ...limits.limits,
        ...Object.entries(loops).map(([limit, perSecond]) => ({
          limit,
          title: '',
          ms: once,
          pairsPerSecond: perSecond,
        })),
      ],
    };
    const rate = (p: number, dtype: Cell['dtype'] = 'float32'): number | undefined =>
      pairsPerSecond({ ...cell, p, dtype }, rates);
    expect([1, 2, Infinity, 1.3, 2.2].map((p) => rate(p))).toEqual([
      1.6e13, 1e13, 1.2e13, 2.5e12, 2.5e12,
    ]);
    expect([0.5, 1.5, 3].map((p) => rate(p))).toEqual([4e12, 4e12, 1e13]);
    for (const p of [0.25, 1.25, 2.5, 4, 8]) expect(rate(p)).toBeUndefined();
    expect([1, 2, Infinity].map((p) => rate(p, 'float64'))).toEqual([7e12, 7e12, 4e12]);
    expect(rate(1.3, 'float64')).toBeUndefined();
    expect(floorOf({ ...gradient, p: 3 }, rates)).toBeUndefined();
  });

  it('counts the multiply-adds of weightedDifferences and what makes the factor that they multiply', () => {
    const rates: DeviceLimitsReport = {
      ...limits,
      limits: [...limits.limits, { limit: 'fp32-fma', title: '', ms: once, pairsPerSecond: 2e13 }],
    };
    const terms = 1000 * 2000 * 64;
    const ms = (p: number, o: number): number | undefined =>
      floorOf({ ...gradient, p, o }, rates)?.ms;
    expect(ms(2, 10)).toBeCloseTo((terms * 12) / 2e10, 9);
    expect(ms(1, 10)).toBeCloseTo((terms * 12) / 2e10, 9);
    expect(ms(1.3, 100)).toBeCloseTo((terms * 103) / 2e10, 9);
    expect(ms(1.3, 1)).toBeCloseTo(terms / 2e9, 9); // the special-function unit decides
    expect(floorOf(gradient, limits)).toBeUndefined(); // no loop measured multiply-adds
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
    expect(slowReason(small, launch, 1000, 1)).toMatch(/1 results of 64 terms/);
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
