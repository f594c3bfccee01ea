import { tensor } from '@mercer/core';
import { describe, expect, it, vi } from 'vitest';
import { errorSummary } from './accuracy.js';
import { cellName, cellOf, REDUCTION_NAMES, roundingUnit, type ReductionCell } from './cells.js';
import { DATA_SETS } from './data-sets.js';
import { floorOf, slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { measureCells } from './measure-cells.js';
import type { Float, FloatArray, ResultArray } from './operations/operation.js';
import { sizesOf } from './operations/operation.js';
import { REDUCTION_OPERATIONS } from './operations/operations.js';
import { checkedRows } from './operations/reduction-errors.js';
import { INNER_PRODUCT_DIMS } from './operations/reduction-floor.js';

const base: ReductionCell = {
  operation: 'gaussianSum',
  dtype: 'float64',
  m: 7,
  n: 9,
  d: 2,
  batch: 2,
};
const cellFor = (
  operation: ReductionCell['operation'],
  dtype: ReductionCell['dtype'],
): ReductionCell => ({
  ...base,
  operation,
  dtype,
  ...(operation === 'nearest' ? { k: 3 } : {}),
});

async function placed(cell: ReductionCell, data: readonly FloatArray[]): Promise<Float[]> {
  const shapes = REDUCTION_OPERATIONS[cell.operation].operands(cell);
  return Promise.all(
    shapes.map(({ shape }, i) =>
      tensor(data[i] ?? new Float64Array(0), { shape: [cell.batch, ...shape], device: 'cpu' }),
    ),
  );
}

async function computed(
  cell: ReductionCell,
): Promise<{ data: FloatArray[]; results: ResultArray[] }> {
  const operation = REDUCTION_OPERATIONS[cell.operation];
  const data = [...operation.makeData('normal', cell)];
  const call = await operation.prepare(cell, await placed(cell, data));
  const out = await call.run();
  expect(await call.run(out)).toEqual(out);
  expect(out.map(({ shape }) => shape)).toEqual(
    operation.results(cell).map((shape) => [cell.batch, ...shape]),
  );
  return { data, results: await Promise.all(out.map((one) => one.toTypedArray())) };
}

/** A result that is wrong in element `at`: for row numbers the next one. */
function spoilt(result: ResultArray, at: number, rows: number): ResultArray {
  const wrong = result.slice();
  const value = wrong[at] ?? NaN;
  wrong[at] = wrong instanceof Int32Array ? (value + 1) % rows : value + 0.1;
  return wrong;
}

/** Those whose results are rows for each point; K-means has tests of its own. */
const ROW_NAMES = REDUCTION_NAMES.filter((name) => name !== 'kMeans');

describe('REDUCTION_OPERATIONS', () => {
  it.each(ROW_NAMES.flatMap((name) => [[name, 'float32'] as const, [name, 'float64'] as const]))(
    '%s in %s: what the library computes is right, and every wrong element is seen',
    async (name, dtype) => {
      const cell = cellFor(name, dtype);
      const { errors, results } = REDUCTION_OPERATIONS[cell.operation];
      const { data, results: right } = await computed(cell);
      const found = errors(cell, data, right);
      expect(found.length).toBe(14);
      expect(errorSummary(found).max).toBeLessThan(30);
      for (const [which, result] of right.entries()) {
        const columns = results(cell)[which]?.[1] ?? 0;
        expect(result.length).toBe(14 * columns);
        for (let i = 0; i < result.length; i++) {
          const wrong = errors(cell, data, right.with(which, spoilt(result, i, cell.n)));
          const row = Math.floor(i / columns);
          expect(wrong.findIndex((error) => !(error < 1000))).toBe(row);
          expect(wrong.filter((error) => error < 30).length).toBe(13);
        }
      }
    },
  );

  it.each(ROW_NAMES)('%s: its truth is its formula, term by term', (operation) => {
    const cell = { ...cellFor(operation, 'float64'), m: 1, n: 2, d: 2, batch: 1 };
    const { errors } = REDUCTION_OPERATIONS[operation];
    const data = [
      Float64Array.of(1, 2),
      Float64Array.of(1, 3, 4, 6), // at the distances 1 and 5
      Float64Array.of(2, -3),
    ];
    const [near, far] = [2 * Math.exp(-1), -3 * Math.exp(-25)];
    const rows = {
      gaussianSum: Float64Array.of(near + far),
      laplacianSum: Float64Array.of(2 * Math.exp(-1) - 3 * Math.exp(-5)),
      logSumExp: Float64Array.of(Math.log(Math.exp(-1) + Math.exp(-25))),
      gaussianGradient: [Float64Array.of(near + far), Float64Array.of(6 * far, 2 * near + 8 * far)],
      nearest: Int32Array.of(0, 1, -1),
      kMeansAssignment: Int32Array.of(0),
    };
    expect(errors(cell, data, [rows[operation]].flat())[0]).toBeLessThan(3);
  });

  it('scales points so that squared distances are about 2 at every dimension, the same every time', () => {
    for (const d of [3, 100]) {
      const cell = { ...base, m: 200, n: 200, d, batch: 1 };
      const { makeData } = REDUCTION_OPERATIONS.gaussianSum;
      const [x = new Float64Array(0), y = new Float64Array(0), b] = makeData('normal', cell);
      expect(makeData('normal', cell)).toEqual([x, y, b]);
      expect(b?.length).toBe(200);
      let sum = 0;
      for (let i = 0; i < 200 * d; i++) sum += ((x[i] ?? NaN) - (y[i] ?? NaN)) ** 2 / 200;
      expect(sum).toBeGreaterThan(1.5);
      expect(sum).toBeLessThan(2.5);
    }
  });

  it.each(DATA_SETS)('finds the true neighbours of %s data, duplicates too', async (set) => {
    const cell: ReductionCell = { ...cellFor('nearest', 'float32'), m: 30, n: 40, k: 5, batch: 1 };
    const { makeData, prepare, errors } = REDUCTION_OPERATIONS.nearest;
    const data = makeData(set, cell);
    const call = await prepare(cell, await placed(cell, data));
    const results = await Promise.all((await call.run()).map((result) => result.toTypedArray()));
    expect(errorSummary(errors(cell, data, results)).max).toBeLessThan(30);
  });

  it('refuses row numbers that stand twice, that no row has, and that should be missing', () => {
    const cell: ReductionCell = {
      ...cellFor('nearest', 'float64'),
      m: 1,
      n: 2,
      d: 1,
      k: 3,
      batch: 1,
    };
    const { errors } = REDUCTION_OPERATIONS.nearest;
    const data = [Float64Array.of(0), Float64Array.of(1, -1)];
    const error = (...found: number[]): number =>
      errorSummary(errors(cell, data, [Int32Array.from(found)])).max;
    expect([error(0, 1, -1), error(1, 0, -1)]).toEqual([0, 0]); // equally near
    for (const wrong of [
      [0, 0, -1],
      [0, 2, -1],
      [0, -1, 1],
      [0, 1, 1],
      [-1, -1, -1],
    ]) {
      expect(error(...wrong)).toBe(Infinity);
    }
  });

  it('counts a sum relative to its terms, NaN as infinite, and throws for another size', () => {
    const cell: ReductionCell = { ...base, m: 1, n: 2, d: 1, batch: 1 };
    const { errors } = REDUCTION_OPERATIONS.gaussianSum;
    const data = [Float64Array.of(0), Float64Array.of(0, 0), Float64Array.of(1, -1)];
    const error = (value: number): number =>
      errorSummary(errors(cell, data, [Float64Array.of(value)])).max;
    expect(error(0)).toBe(0);
    expect(error(4 * roundingUnit(cell))).toBe(2); // of terms that sum to 2 in magnitude
    expect(error(NaN)).toBe(Infinity);
    expect(() => errors({ ...cell, m: 2 }, data, [Float64Array.of(0)])).toThrow(RangeError);
    expect(() => errors(cell, data, [])).toThrow(RangeError);
  });

  it('checks as many rows as are quick', () => {
    expect(checkedRows({ ...base, m: 10, batch: 3 }).length).toBe(30);
    expect(checkedRows({ ...base, m: 1e6, n: 1e6, d: 3 }).length).toBe(48);
    expect(checkedRows({ ...base, m: 1e4, n: 1e6, d: 100 })).toEqual([0, 6666, 13333, 19999]);
  });

  it('counts bytes of int32 for row numbers', () => {
    const cell = cellFor('nearest', 'float64');
    expect(sizesOf(REDUCTION_OPERATIONS.nearest, cell)).toMatchObject({
      operandBytes: 2 * (7 + 9) * 2 * 8,
      bytes: 2 * (7 + 9) * 2 * 8 + 2 * 7 * 3 * 4,
    });
  });
});

describe('cells of reductions', () => {
  it('have a name and keep nothing but the problem', () => {
    const cell: ReductionCell = { ...cellFor('nearest', 'float64'), batch: 1 };
    expect(cellName(cell)).toBe('nearest float64 7 x 9, D = 2, k = 3');
    expect(cellName({ ...base, dtype: 'float32' })).toBe('gaussianSum 2 x 7 x 9, D = 2');
    expect(cellOf({ ...cell, plan: 'x' } as ReductionCell)).toEqual(cell);
  });
});

describe('the floor of reductions', () => {
  const ms = { median: 1e-3, p10: 1e-3, p90: 1e-3, count: 1 };
  const gpu: DeviceLimitsReport = {
    device: 'cuda:0',
    deviceName: 'a GPU',
    cacheBytes: 1e12,
    limits: [
      { limit: 'fp32-fma', title: '', ms, pairsPerSecond: 3e13 },
      { limit: 'fp32-power-special', title: '', ms, specialPerSecond: 4e12 },
      { limit: 'fp64-add-fma', title: '', ms, pairsPerSecond: 5e12 },
      { limit: 'copy', title: '', ms, bytesPerSecond: 4e12 },
      { limit: 'launch', title: '', ms },
    ],
  };
  const cpu: DeviceLimitsReport = {
    device: 'cpu',
    deviceName: 'a CPU',
    cacheBytes: 1e12,
    limits: [
      { limit: 'cpu-fp32-fma', title: '', ms, pairsPerSecond: 1e11 },
      { limit: 'cpu-fp64-fma', title: '', ms, pairsPerSecond: 5e10 },
      { limit: 'launch', title: '', ms },
    ],
  };
  const large = { m: 1e5, n: 1e5, batch: 1 };
  const slotsOf = (
    operation: ReductionCell['operation'],
    d: number,
    dtype: ReductionCell['dtype'] = 'float32',
    limits = gpu,
  ): number => {
    const floor = floorOf({ ...cellFor(operation, dtype), ...large, d }, limits);
    const rate = { gpu: { float32: 3e13, float64: 1e13 }, cpu: { float32: 1e11, float64: 5e10 } };
    return ((floor?.ms ?? NaN) * rate[limits === gpu ? 'gpu' : 'cpu'][dtype]) / 1e3 / 1e10;
  };

  it('counts differences, and inner products where those are long', () => {
    const d = INNER_PRODUCT_DIMS;
    const slots = {
      gaussianSum: [2 * 20 + 3, d + 3],
      laplacianSum: [2 * 20 + 5, d + 5],
      logSumExp: [2 * 20 + 3, d + 3],
      gaussianGradient: [3 * 20 + 4, 2 * d + 4],
      nearest: [2 * 20 + 1, d + 1],
      kMeansAssignment: [2 * 20 + 1, d + 1],
      kMeans: [10 * (2 * 20 + 1), 10 * (d + 1)],
    };
    for (const name of REDUCTION_NAMES) {
      expect([slotsOf(name, 20), slotsOf(name, d)].map(Math.round)).toEqual(slots[name]);
    }
  });

  it('is that of special functions where they take longer', () => {
    const floor = floorOf({ ...base, ...large, dtype: 'float32', d: 1 }, gpu);
    expect(floor?.ms).toBeCloseTo(1e10 / 4e9, 9);
    const two = floorOf({ ...base, ...large, operation: 'laplacianSum', dtype: 'float32' }, gpu);
    expect(two?.ms).toBeCloseTo(2e10 / 4e9, 9);
    const missing = {
      ...gpu,
      limits: gpu.limits.filter(({ limit }) => limit !== 'fp32-power-special'),
    };
    expect(floorOf({ ...base, ...large, dtype: 'float32' }, missing)).toBeUndefined();
    expect(floorOf({ ...cellFor('nearest', 'float32'), ...large }, missing)).toBeDefined();
    expect(floorOf({ ...base, ...large }, { ...gpu, limits: [] })).toBeUndefined();
  });

  it('counts polynomials in float64 and on a CPU', () => {
    expect(Math.round(slotsOf('gaussianSum', 3, 'float64'))).toBe(6 + 16 + 1);
    expect(Math.round(slotsOf('laplacianSum', 3, 'float64'))).toBe(6 + 16 + 8 + 1);
    expect(Math.round(slotsOf('gaussianSum', 3, 'float32', cpu))).toBe(6 + 10 + 1);
    expect(Math.round(slotsOf('laplacianSum', 3, 'float32', cpu))).toBe(6 + 10 + 5 + 1);
    expect(Math.round(slotsOf('gaussianSum', 3, 'float64', cpu))).toBe(6 + 16 + 1);
  });

  it('gives a reason for every slow cell', () => {
    const cell: ReductionCell = { ...base, ...large };
    const issue = { kind: 'issue', ms: 1 } as const;
    expect(slowReason(base, { kind: 'launch', ms: 1 }, 100, 1)).toMatch(/7 x 9 pairs.*launch/);
    expect(slowReason(cell, issue, 100, 0.4)).toMatch(/2\.5 times the least launch/);
    expect(slowReason(base, issue, 100, 0.01)).toMatch(/14 rows cannot occupy 100/);
    expect(slowReason({ ...cell, d: 100 }, issue, 100, 0.01)).toMatch(/tensor cores/);
    expect(slowReason({ ...cell, operation: 'nearest', k: 10 }, issue, 100, 0.01)).toMatch(
      /10 nearest/,
    );
    expect(slowReason({ ...cell, operation: 'kMeans' }, issue, 100, 0.01)).toMatch(/updates/);
    expect(slowReason(cell, issue, 100, 0.01)).toMatch(/unexplained/);
  });
});

describe('measureCells', () => {
  it('leaves out what there is no kernel for, with the reason, and measures the rest', async () => {
    const { device } = await import('@mercer/core');
    const limits = { device: 'cpu', deviceName: '', cacheBytes: 0, limits: [] };
    const seen: string[] = [];
    const settings = {
      device: device('cpu'),
      limits,
      maxSecondsPerCell: 1,
      dataSets: ['normal', 'close'] as const,
    };
    const many: ReductionCell = { ...base, operation: 'nearest', n: 33_000, k: 33_000, batch: 1 };
    vi.stubEnv('MERCER_CPU', 'interpreted');
    const results = await measureCells([many], settings, (cell) => seen.push(cellName(cell)));
    vi.unstubAllEnvs();
    const reason = expect.stringMatching(/the interpreter of CPU kernels takes/) as string;
    expect(results).toEqual([{ ...many, reason }]);
    expect(seen.length).toBe(1);
    const [done] = await measureCells([{ ...base, batch: 1 }], settings, () => undefined);
    expect(done).toMatchObject({ operation: 'gaussianSum', errors: { normal: {}, close: {} } });
  });
});
