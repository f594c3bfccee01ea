import { describe, expect, test } from 'vitest';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { checkRows, ROWS_CASES } from './rows-check.test-support.js';
import { planRows } from './plan-rows.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const;
const described = ROWS_CASES.map(
  ([problem, form]) => [planRows(problem, limits).summary, form, problem] as const,
);

describe('rows on the CPU', () => {
  test.each(described)('%s, scale by %s', (_, form, problem) => {
    checkRows(problem, form, limits, runCpuProgram);
  });

  test('squares beyond the range of numbers', () => {
    for (const [dtype, size] of [
      ['float32', 1e38],
      ['float32', 1e-40],
      ['float64', 1e300],
      ['float64', 1e-300],
    ] as const) {
      for (const layout of ['row', 'column'] as const) {
        const problem = { dtype, m: 5, k: 20, batch: 1, layout, scale: false, normalise: true };
        checkRows(problem, 'number', limits, runCpuProgram, () => size * (0.5 + random() / 2));
      }
    }
  });

  test('no task for an empty operand, and empty rows', () => {
    const problem = { dtype: 'float32', layout: 'row', scale: true, normalise: true } as const;
    for (const sizes of [
      { m: 0, k: 4, batch: 2 },
      { m: 4, k: 0, batch: 1 },
      { m: 4, k: 4, batch: 0 },
    ]) {
      checkRows({ ...problem, ...sizes, norms: true }, 'number', limits, runCpuProgram);
    }
  });

  test('plans are frozen data', () => {
    const [[problem] = []] = ROWS_CASES;
    if (problem === undefined) throw new Error('no case');
    const plan = planRows(problem, limits);
    expect(Object.isFrozen(plan)).toBe(true);
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });
});
