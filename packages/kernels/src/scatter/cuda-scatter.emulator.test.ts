import { describe, expect, test } from 'vitest';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import { runCudaKernel, runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import type { ProgramLaunch } from '../testing/cpu-program.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { cudaSortKernels, SORT_TILE, sortWords } from './cuda-sort.js';
import { chooseSorted, planScatterAdd } from './plan-scatter.js';
import {
  checkCountRows,
  checkGatherRows,
  checkScatterAdd,
  SCATTER_CASES,
} from './scatter-check.test-support.js';

/** A launch without blocks is none. */
const run = (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch): void => {
  if (launch.scalars['count'] !== 0 && launch.scalars['columns'] !== 0) {
    runCudaProgram(program, launch);
  }
};
/** The same where a launch without entries still writes zeros. */
const runEmpty = (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch): void => {
  if (launch.scalars['columns'] !== 0) runCudaProgram(program, launch);
};
const few = { ...H200, multiprocessors: 1 };

describe('rows by index on a GPU', () => {
  test('sums of every type, sorted', { timeout: 300_000 }, () => {
    const passes = new Set<string>();
    for (const [problem] of SCATTER_CASES) {
      const sort = chooseSorted(problem, H200);
      passes.add(`${sort.passes} of ${sort.bits}`);
    }
    for (const [problem, kind] of covering(SCATTER_CASES, 0)) {
      checkScatterAdd(problem, kind, H200, run, { sorted: true });
    }
    const wanted = ['1 of 1', '1 of 3', '1 of 2', '1 of 6', '1 of 8', '2 of 5', '2 of 7', '3 of 6'];
    expect([...passes]).toEqual(expect.arrayContaining(wanted));
  });

  test('sums of every type, each row by a block', { timeout: 300_000 }, () => {
    const modes = new Set<string>();
    for (const [problem] of SCATTER_CASES) modes.add(planScatterAdd(problem, H200).mode);
    // those that are not sorted above
    for (const [problem, kind] of covering(SCATTER_CASES, 1)) {
      checkScatterAdd(problem, kind, H200, runEmpty);
    }
    expect([...modes].sort()).toEqual(['direct', 'sorted']);
  });

  test('what is read directly', () => {
    const types = { from: 'float32', to: 'float32', index: 'int32' } as const;
    const plan = (count: number, rows: number, columns: number): string =>
      planScatterAdd({ ...types, count, rows, columns }, H200).mode;
    expect(plan(10_000, 100, 10)).toBe('direct');
    expect(plan(30_000, 173, 10)).toBe('direct');
    expect(plan(100_000, 316, 10)).toBe('sorted');
    expect(plan(1_000_000, 1000, 10)).toBe('sorted');
    // blocks cost by themselves
    expect(plan(10, 1_000_000, 10)).toBe('sorted');
    expect(plan(0, 1, 2_000_000)).toBe('sorted');
  });

  test('runs within a chunk, over a few and over many, in tiles of both sizes', () => {
    const types = { from: 'float32', to: 'float32', index: 'int32' } as const;
    const tiles = new Set<number>();
    for (const [rows, count, columns, kind] of [
      [1, 9000, 1, 'last'],
      [1, 4500, 5, 'last'],
      [3, 2049, 2, 'skewed'],
      [60, 9000, 1, 'random'],
      [60, 4200, 40, 'skewed'],
      [900, 4500, 3, 'outside'],
    ] as const) {
      for (const limits of [H200, few]) {
        const problem = { ...types, rows, count, columns };
        tiles.add(chooseSorted(problem, limits).tile);
        checkScatterAdd(problem, kind, limits, run, { sorted: true });
      }
    }
    expect([...tiles].sort()).toEqual([1024, 4096]);
  });

  test('counters of more tiles than threads are summed before each tile', () => {
    const count = 600_000;
    const tiles = Math.ceil(count / SORT_TILE);
    const [, scan] = cudaSortKernels('int32');
    const words = new Uint32Array(sortWords(count));
    const counters = words.subarray(4 * count, 4 * count + 256 * tiles);
    const given = counters.map((_, i) => (i * 7919) % 1000);
    counters.set(given);
    runCudaKernel(scan, { scalars: { count }, pointers: [words], options: { check: false } });
    for (let digit = 0; digit < 256; digit++) {
      let before = 0;
      const found = counters.subarray(digit * tiles, (digit + 1) * tiles);
      const expected = found.map((_, tile) => {
        const here = before;
        before += given[digit * tiles + tile] ?? NaN;
        return here;
      });
      expect(found).toEqual(expected);
      expect(words[4 * count + 256 * tiles + digit]).toBe(before);
    }
  });

  test('the order of blocks changes no bit', () => {
    const problem = { from: 'float32', to: 'float32', index: 'int32' } as const;
    const sizes = { rows: 40, count: 6000, columns: 3 };
    const shuffled = (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch): void => {
      runCudaProgram(program, { ...launch, options: { blocks: 'shuffled' } });
    };
    for (const sorted of [true, false]) {
      const check = (runs: typeof run): ReturnType<typeof checkScatterAdd> =>
        checkScatterAdd({ ...problem, ...sizes }, 'skewed', H200, runs, { sorted });
      expect(check(shuffled)).toEqual(check(run));
    }
  });

  test('atomic additions, to a copy of few rows and to many rows', () => {
    for (const [to, rows] of [
      ['float32', 7],
      ['float64', 3000],
    ] as const) {
      for (const index of ['int32', 'int64'] as const) {
        const sizes = { rows, count: 3000, columns: 3, deterministic: false };
        const planned = { ...sizes, count: 10_000_000 };
        const problem = { from: 'float32', to, index, ...sizes } as const;
        expect(planScatterAdd({ ...problem, ...planned }, H200).mode).toBe('atomic');
        checkScatterAdd(problem, 'outside', H200, run, { planned });
      }
    }
  });

  test.each(['int32', 'int64'] as const)('counts and rows by %s', (index) => {
    for (const [rows, count, kind] of [
      [1, 100, 'random'],
      [7, 9000, 'outside'],
      [20_000, 700, 'skewed'],
      [20_000, 300, 'outside'],
    ] as const) {
      for (const to of ['int32', 'int64'] as const) {
        checkCountRows({ count, rows }, [index, to], kind, H200, run);
      }
    }
    checkGatherRows(index, H200, run);
  });
});
