import { tensor } from '@mercer/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorsOf } from './errors-of.js';
import type { SolverCell } from './cells.js';
import { floorOf, slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { measureCells } from './measure-cells.js';
import { measureBriefly } from './measuring-time.js';
import type { Float, FloatArray } from './operations/operation.js';
import { SOLVER_OPERATIONS } from './operations/operations.js';
import { toleranceOf } from './operations/solves.js';

const base: SolverCell = { operation: 'solve', dtype: 'float64', n: 60, d: 3, batch: 1 };

/** Solves by elimination in float64. */
function direct({ n, d }: SolverCell, [x, b]: readonly FloatArray[], gamma: number, alpha: number) {
  const entry = (i: number, j: number): number => {
    let square = 0;
    for (let c = 0; c < d; c++) square += ((x?.[i * d + c] ?? NaN) - (x?.[j * d + c] ?? NaN)) ** 2;
    return Math.exp(-gamma * square) + (i === j ? alpha : 0);
  };
  const rows = Array.from({ length: n }, (_, i) =>
    Float64Array.from({ length: n + 1 }, (__, j) => (j === n ? (b?.[i] ?? NaN) : entry(i, j))),
  );
  for (const [k, pivot] of rows.entries()) {
    for (const [i, row] of rows.entries()) {
      if (i === k) continue;
      const factor = (row[k] ?? NaN) / (pivot[k] ?? NaN);
      for (let j = k; j <= n; j++) row[j] = (row[j] ?? NaN) - factor * (pivot[j] ?? NaN);
    }
  }
  return Float64Array.from(rows, (row, i) => (row[n] ?? NaN) / (row[i] ?? NaN));
}

async function placed(cell: SolverCell, data: readonly FloatArray[]): Promise<Float[]> {
  const shapes = SOLVER_OPERATIONS[cell.operation].operands(cell);
  return Promise.all(
    shapes.map(({ shape }, i) => tensor(data[i] ?? new Float64Array(0), { shape, device: 'cpu' })),
  );
}

const dataOf = (cell: SolverCell): readonly FloatArray[] => {
  const operation = SOLVER_OPERATIONS[cell.operation];
  return operation.makeData(operation.dataSet ?? 'normal', cell);
};

beforeAll(measureBriefly);

describe('systems with kernel matrices', () => {
  it.each([
    [base, 10, 0.1],
    [{ ...base, operation: 'inverseKernel' } as const, 5000, 0.8],
    [{ ...base, preconditioner: 'nystrom', rank: 20 } as const, 10, 0.1],
    [{ ...base, preconditioner: 'nystromColumns', rank: 20 } as const, 10, 0.1],
    [{ ...base, preconditioner: 'pivotedCholesky', rank: 20 } as const, 10, 0.1],
  ])('are solved as elimination solves them: %o', async (cell, gamma, alpha) => {
    const data = dataOf(cell);
    const call = await SOLVER_OPERATIONS[cell.operation].prepare(cell, await placed(cell, data));
    const [x] = await call.run();
    const truth = direct(cell, data, gamma, alpha);
    const found = await x?.toTypedArray();
    for (const [i, value] of truth.entries()) expect(found?.[i]).toBeCloseTo(value, 5);
    const figures = await call.iterative?.(1);
    expect(figures).toMatchObject({ converged: true });
    expect(figures?.iterations).toBeGreaterThan(0);
    expect(figures?.productMs.median).toBeGreaterThan(0);
    expect(figures?.preconditionerMs === undefined).toBe(cell.preconditioner === undefined);
    expect(figures?.iterationsMs === undefined).toBe(cell.preconditioner === undefined);
    x?.dispose();
  });

  it('are judged by the residual in float64, by the tolerance', async () => {
    const data = dataOf(base);
    const operation = SOLVER_OPERATIONS.solve;
    const truth = direct(base, data, 10, 0.1);
    const [exact = NaN] = operation.residuals(base, data, [truth]);
    expect(exact * toleranceOf(base)).toBeLessThan(1e-14);
    // a change of x moves the residual by A times it: here by the norm of a column of A
    const moved = truth.with(7, (truth[7] ?? NaN) + 1e-3);
    const [share = NaN] = operation.residuals(base, data, [moved]);
    const [x = new Float64Array(0), b = new Float64Array(0)] = data;
    let column = 0;
    for (let i = 0; i < 60; i++) {
      let square = 0;
      for (let c = 0; c < 3; c++) square += ((x[i * 3 + c] ?? NaN) - (x[21 + c] ?? NaN)) ** 2;
      column += (Math.exp(-10 * square) + (i === 7 ? 0.1 : 0)) ** 2;
    }
    let norm = 0;
    for (const value of b) norm += value ** 2;
    expect(share * toleranceOf(base)).toBeCloseTo(1e-3 * Math.sqrt(column / norm), 10);
    expect(operation.residuals(base, data, [truth.with(3, NaN)])).toEqual([NaN]);
    expect(() => operation.residuals(base, data, [truth.slice(1)])).toThrow(/60 unknowns, not 59/);
    const float32 = { ...base, dtype: 'float32' } as const;
    expect(toleranceOf(float32)).toBe(1e-4);
    using found = await tensor(moved, { shape: [60, 1], device: 'cpu' });
    expect(await errorsOf(base, data, [found])).toMatchObject({ max: share, count: 1 });
  });

  it('are measured on their own data alone, with the products as the floor', async () => {
    const limits: DeviceLimitsReport = {
      device: 'cpu',
      deviceName: 'test',
      cacheBytes: 1,
      limits: [],
    };
    using probe = await tensor([0], { device: 'cpu' });
    const { device } = probe;
    const cells: SolverCell[] = [base, { ...base, preconditioner: 'nystrom', rank: 60 }];
    const measured = [];
    for (const cell of cells) {
      const settings = { device, limits, maxSecondsPerCell: 5, dataSets: ['close'] as const };
      measured.push(...(await measureCells([cell], settings, () => undefined)));
    }
    const iterations = measured.map((result) => {
      if (!('ms' in result)) throw new Error(result.reason);
      expect(Object.keys(result.errors)).toEqual(['uniform']);
      const { iterative, floor, ms } = result;
      expect(iterative?.residual).toBeLessThanOrEqual(1e-8);
      expect(iterative?.residual).toBeCloseTo(1e-8 * (result.errors.uniform?.max ?? NaN), 14);
      expect(floor).toEqual({
        kind: 'products',
        ms: (iterative?.iterations ?? NaN) * (iterative?.productMs.median ?? NaN),
      });
      const time = (iterative?.iterationsMs ?? ms).median;
      expect(iterative?.msPerIteration).toBeCloseTo(time / (iterative?.iterations ?? NaN), 9);
      return iterative?.iterations ?? NaN;
    });
    // the whole spectrum is in a sketch of all columns
    expect(iterations[1]).toBeLessThan((iterations[0] ?? NaN) / 4);
  });

  it('say why they are slow, and that one product bounds them', () => {
    const floor = { kind: 'products', ms: 1 } as const;
    expect(slowReason(base, floor, 10, 1)).toMatch(/a product of 60 points is shorter/);
    const cell: SolverCell = { ...base, preconditioner: 'nystrom', rank: 5 };
    expect(slowReason(cell, floor, 10, 1)).toMatch(/preconditioner/);
    const limits = {
      device: 'cpu',
      cacheBytes: 1e9,
      limits: [{ limit: 'cpu-fp64-fma', pairsPerSecond: 1e9, ms: { median: 1 } }],
    } as unknown as DeviceLimitsReport;
    expect(floorOf({ ...base, n: 1000 }, limits)?.ms).toBeGreaterThan(1);
  });
});
