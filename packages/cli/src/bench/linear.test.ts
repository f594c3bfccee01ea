import { tensor } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import { errorSummary } from './accuracy.js';
import { cellName, groupByOperands, LINEAR_NAMES, type LinearCell } from './cells.js';
import { floorOf, slowReason } from './floor.js';
import type { DeviceLimitsReport } from './limits.js';
import { linalgCells } from './linalg-cells.js';
import type { FloatArray } from './operations/operation.js';
import { sizesOf } from './operations/operation.js';
import { LINEAR_OPERATIONS } from './operations/operations.js';
import { checkedColumns, RESIDUAL_LIMIT } from './operations/residuals.js';

const base: LinearCell = { operation: 'matmul', dtype: 'float64', n: 6, batch: 2 };
const cellFor = (operation: LinearCell['operation'], dtype: LinearCell['dtype']): LinearCell => ({
  ...base,
  operation,
  dtype,
  ...(operation.startsWith('solve') ? { rightHandSides: 5 } : {}),
});

async function computed(cell: LinearCell): Promise<{ data: FloatArray[]; results: FloatArray[] }> {
  const operation = LINEAR_OPERATIONS[cell.operation];
  const data = [...operation.makeData('normal', cell)];
  const tensors = await Promise.all(
    operation
      .operands(cell)
      .map(({ shape }, i) =>
        tensor(data[i] ?? new Float64Array(0), { shape: [cell.batch, ...shape], device: 'cpu' }),
      ),
  );
  const call = await operation.prepare(cell, tensors);
  const results = await Promise.all((await call.run()).map((result) => result.toTypedArray()));
  return { data, results };
}

describe('LINEAR_OPERATIONS', () => {
  for (const operation of LINEAR_NAMES) {
    const { residuals, results: shapes } = LINEAR_OPERATIONS[operation];

    it.each(['float32', 'float64'] as const)(
      `${operation} in %s: what the library computes is right, and every wrong element is seen`,
      async (dtype) => {
        const cell = cellFor(operation, dtype);
        const { data, results } = await computed(cell);
        const right = residuals(cell, data, results);
        expect(right.length).toBe(2);
        for (const residual of right) expect(residual).toBeLessThan(RESIDUAL_LIMIT);
        for (const [which, values] of results.entries()) {
          const size = (shapes(cell)[which] ?? []).reduce((product, extent) => product * extent, 1);
          expect(values.length).toBe(2 * size);
          for (let i = size; i < 2 * size; i++) {
            const wrong = results.map((result) => result.slice());
            const list = wrong[which] ?? new Float64Array(0);
            list[i] = (list[i] ?? NaN) + 0.1;
            const [first, second] = residuals(cell, data, wrong);
            expect(first).toBe(right[0]);
            expect(second).toBeGreaterThan(RESIDUAL_LIMIT);
          }
        }
      },
    );

    it(`${operation}: a result that is no number errs by infinity, and so does an empty one`, async () => {
      const cell = cellFor(operation, 'float64');
      const { data, results } = await computed(cell);
      const nan = results.map((result) => result.map(() => NaN));
      expect(errorSummary(residuals(cell, data, nan))).toMatchObject({ max: Infinity, count: 2 });
      const missing = results.map((result) => result.subarray(1));
      expect(() => residuals(cell, data, missing)).toThrow(RangeError);
      const zero = results.map((result) => result.map(() => 0));
      expect(errorSummary(residuals(cell, data, zero)).max).toBeGreaterThan(RESIDUAL_LIMIT);
    });
  }

  it('makes definite and symmetric matrices', () => {
    const cell = { ...cellFor('solveCholesky', 'float64'), n: 40 };
    const [a] = LINEAR_OPERATIONS.solveCholesky.makeData('normal', cell);
    const [e] = LINEAR_OPERATIONS.eigh.makeData('normal', { ...cell, operation: 'eigh' });
    for (const symmetric of [a, e]) {
      for (let i = 0; i < 40; i++) {
        for (let j = 0; j < 40; j++) {
          expect(symmetric?.[1600 + i * 40 + j]).toBe(symmetric?.[1600 + j * 40 + i]);
        }
      }
    }
    expect(
      Math.min(...Array.from({ length: 80 }, (_, i) => a?.[i * 40 + (i % 40)] ?? NaN)),
    ).toBeGreaterThan(15);
  });

  it('checks all columns where that is quick, and spread ones of large matrices', () => {
    expect(checkedColumns({ ...base, n: 512, batch: 1 }, 512).length).toBe(512);
    const some = checkedColumns({ ...base, n: 1024, batch: 4 }, 1024);
    expect(some.length).toBeGreaterThan(40);
    expect(some.length).toBeLessThan(60);
    expect([some[0], some.at(-1)]).toEqual([0, 1023]);
    expect(checkedColumns({ ...base, n: 8192, batch: 10 }, 8192).length).toBe(8);
  });
});

describe('linalgCells', () => {
  it('takes shapes that a small CPU computes in seconds, or every combination of those named', () => {
    const cells = linalgCells({});
    expect(cells.length).toBe(2 * (3 * 3 + 2 * 2));
    expect(cells.map(cellName)).toContain('solveLU float64 4 x 1024 x 1024, 16 sides');
    expect(cells.map(cellName)).toContain('svd float32 512 x 512');
    expect(groupByOperands(cells).length).toBe(cells.length);
    const named = linalgCells({ n: [7, 3], batch: [1, 5], operations: ['eigh'] });
    expect(named.length).toBe(2 * 4);
    expect(named[0]).toEqual({ operation: 'eigh', dtype: 'float32', n: 3, batch: 1 });
    expect(linalgCells({ batch: [2], dtype: ['float32'], operations: ['solveLU'] })).toEqual([
      { operation: 'solveLU', dtype: 'float32', n: 512, rightHandSides: 16, batch: 2 },
    ]);
  });
});

describe('the floor of linear algebra', () => {
  const ms = { median: 0.01, p10: 0.01, p90: 0.01, count: 1 };
  const limits: DeviceLimitsReport = {
    device: 'cpu',
    deviceName: 'a CPU',
    cacheBytes: 1e9,
    limits: [
      { limit: 'cpu-fp32-fma', title: '', ms, pairsPerSecond: 2e11 },
      { limit: 'cpu-fp64-fma', title: '', ms, pairsPerSecond: 1e11 },
      { limit: 'launch', title: '', ms },
    ],
  };
  const large = (operation: LinearCell['operation']): LinearCell => ({
    ...cellFor(operation, 'float64'),
    n: 1000,
    batch: 3,
  });

  it('counts two operations for a multiply-add', () => {
    const flops = {
      solveCholesky: 1e9 / 3 + 2e6 * 5,
      solveLU: 2e9 / 3 + 2e6 * 5,
      eigh: 10e9 / 3,
      svd: 20e9 / 3,
      matmul: 2e9,
    };
    for (const operation of LINEAR_NAMES) {
      const floor = floorOf(large(operation), limits);
      expect(floor?.kind).toBe('issue');
      expect(floor?.ms).toBeCloseTo((3 * flops[operation]) / 2 / 1e8, 6);
    }
    expect(floorOf({ ...large('matmul'), dtype: 'float32' }, limits)?.ms).toBeCloseTo(15, 6);
  });

  it('counts the bytes of all results, and gives a reason for every slow cell', () => {
    const svd = large('svd');
    expect(sizesOf(LINEAR_OPERATIONS.svd, svd)).toMatchObject({
      results: 3 * (2e6 + 1000),
      operandBytes: 3 * 8e6,
    });
    const issue = { kind: 'issue', ms: 10 } as const;
    expect(slowReason(svd, issue, 2, 0.01)).toMatch(/wait for memory/);
    expect(slowReason(large('matmul'), issue, 2, 0.01)).toMatch(/unexplained/);
    expect(slowReason(large('solveLU'), issue, 2, 0.01)).toMatch(/panels/);
    expect(slowReason(svd, { kind: 'launch', ms: 1 }, 2, 0.01)).toMatch(/order 1000.*launch/);
  });
});
