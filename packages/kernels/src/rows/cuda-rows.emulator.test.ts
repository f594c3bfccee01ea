import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { checkRows, ROWS_CASES } from './rows-check.test-support.js';
import { planRows } from './plan-rows.js';

const described = ROWS_CASES.map(
  ([problem, form]) => [planRows(problem, H200).summary, form, problem] as const,
);

describe('rows on a GPU', () => {
  test.each(described)('%s, scale by %s', (_, form, problem) => {
    checkRows(problem, form, H200, runCudaProgram);
  });

  test('few long rows are each shared by a block', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      const sizes = { dtype, m: 3, k: 2100, batch: 2, layout: 'row' } as const;
      const problem = { ...sizes, scale: true, normalise: true, norms: true };
      expect(planRows(problem, H200).threadsPerRow).toBe(256);
      checkRows(problem, 'batch and feature', H200, runCudaProgram);
    }
  });

  test('squares beyond the range of numbers', () => {
    for (const size of [1e300, 1e-300]) {
      for (const layout of ['row', 'column'] as const) {
        for (const k of [20, 2100]) {
          const sizes = { dtype: 'float64', m: 5, k, batch: 1, layout } as const;
          const problem = { ...sizes, scale: false, normalise: true };
          checkRows(problem, 'number', H200, runCudaProgram, () => size * (0.5 + random() / 2));
        }
      }
    }
  });
});
