import { describe, expect, test } from 'vitest';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { planScatterAdd } from './plan-scatter.js';
import {
  checkCountRows,
  checkGatherRows,
  checkScatterAdd,
  SCATTER_CASES,
} from './scatter-check.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const;

describe('rows by index on the CPU', () => {
  test('sums of every type, in both modes', () => {
    const met = new Set<string>();
    for (const [problem, kind] of SCATTER_CASES) {
      met.add(planScatterAdd(problem, limits).mode);
      checkScatterAdd(problem, kind, limits, runCpuProgram);
    }
    expect([...met].sort()).toEqual(['direct', 'sorted']);
  });

  test('a plan is right for sizes that it was not made for', () => {
    const types = { from: 'float32', to: 'float64', index: 'int32' } as const;
    const small = { rows: 5, count: 100, columns: 3 };
    const large = { rows: 100_000, count: 3000, columns: 2 };
    for (const [planned, run] of [
      [small, large],
      [large, small],
    ] as const) {
      checkScatterAdd({ ...types, ...run }, 'outside', limits, runCpuProgram, { planned });
    }
  });

  test('the number of threads changes no bit', () => {
    const problem = { from: 'float32', to: 'float32', index: 'int32' } as const;
    for (const sizes of [
      { rows: 7, count: 3000, columns: 40 },
      { rows: 50_000, count: 3000, columns: 3 },
    ]) {
      const results = [1, 3, 64].map((cores) => {
        const machine = { ...limits, cores };
        return checkScatterAdd({ ...problem, ...sizes }, 'skewed', machine, runCpuProgram);
      });
      expect(results[1]).toEqual(results[0]);
      expect(results[2]).toEqual(results[0]);
    }
  });

  test.each(['int32', 'int64'] as const)('counts and rows by %s', (index) => {
    for (const [rows, count, kind] of [
      [1, 100, 'random'],
      [7, 900, 'outside'],
      [1000, 50, 'skewed'],
      [100_000, 900, 'random'],
      [0, 5, 'last'],
      [3, 0, 'random'],
    ] as const) {
      for (const to of ['int32', 'int64'] as const) {
        checkCountRows({ count, rows }, [index, to], kind, limits, runCpuProgram);
      }
    }
    checkGatherRows(index, limits, runCpuProgram);
  });

  test('plans are frozen data', () => {
    const [[problem] = []] = SCATTER_CASES;
    if (problem === undefined) throw new Error('no case');
    const plan = planScatterAdd(problem, limits);
    expect(Object.isFrozen(plan)).toBe(true);
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });
});
