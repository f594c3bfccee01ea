import { describe, expect, it } from 'vitest';
import { ALL, compare, expected, SCALARS } from '../emit/every-op.test-support.js';
import { runInterpretedExpressions } from '../emit/interpreted-expressions.test-support.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';

describe.each(runnableLevels())('formulas on the interpreter for %s', (level) => {
  it.each(['float32', 'float64'] as const)('mean what the evaluator says, %s', (dtype) => {
    const results = runInterpretedExpressions(
      ALL,
      { level, dtype, scalars: SCALARS },
      expected(dtype),
    );
    expect(compare(dtype, results).slice(0, 20)).toEqual([]);
  });
});
