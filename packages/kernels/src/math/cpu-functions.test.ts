import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '@mercer/formula';
import { runCpuExpressions } from '../emit/cpu-expressions-kernel.test-support.js';
import { machines } from '../testing/cpu-harness.test-support.js';
import {
  compareFunctions,
  FUNCTION_CASES,
  FUNCTION_EXPRESSIONS,
  functionData,
} from './function-cases.test-support.js';

describe.each(machines())('functions by %s for %s', (compiler, level) => {
  it.each(['float32', 'float64'] as const)('hold their bounds, %s', (dtype) => {
    const on = { compiler, level, dtype };
    const out = runCpuExpressions(FUNCTION_EXPRESSIONS, on, functionData(dtype));
    expect(compareFunctions(dtype, 'cpu', out).slice(0, 40)).toEqual([]);
  });
});

describe('the comparison', () => {
  it('covers every function', () => {
    expect([...new Set(FUNCTION_CASES.map(({ fn }) => fn))].sort()).toEqual([...FUNCTIONS].sort());
  });

  it('sees an error of a few units', () => {
    const { x, wanted } = functionData('float64');
    const out = wanted.flatMap((row) => row.map((one) => one?.value ?? NaN));
    expect(compareFunctions('float64', 'cpu', out)).toEqual([]);
    const n = FUNCTION_CASES.findIndex(({ fn }) => fn === 'sin');
    const i = x.findIndex((at) => at > 0.4 && at < 0.6);
    out[n * x.length + i]! *= 1 + 6 * 2 ** -53;
    expect(compareFunctions('float64', 'cpu', out)).toHaveLength(1);
  });
});
