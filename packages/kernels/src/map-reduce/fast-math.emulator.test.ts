import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitMapReduce } from './emit.js';
import { FAST_CASES } from './fast-math-reductions.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { planMapReduce } from './plan.js';

const CPU = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 4,
  l1Bytes: 32768,
  l2Bytes: 1048576,
} as const;

describe('fastMath', () => {
  test.each(FAST_CASES)('on a GPU, %s', (_, one) => {
    const plan = planMapReduce({ ...one, batch: 1 }, H200);
    expect(plan.fastMath).toBe(true);
    expect(plan.summary).toContain(', fast math,');
    const text = emitMapReduce(plan)
      .steps.map(({ kernel }) => kernel)
      .flatMap((kernel) => ('source' in kernel ? [kernel.source] : []));
    expect(text.join('\n')).toMatch(/fast_divide\(/);
    expect(text.join('\n')).not.toMatch(/\blogf\(|\btanhf\(|pow_positive\(/);
    checkMapReduce(one, H200, runCudaProgram);
  });

  test.each(FAST_CASES)('changes nothing by default, in float64, and on a CPU, %s', (_, one) => {
    const { fastMath, ...plain } = { ...one, batch: 1 };
    expect(fastMath).toBe(true);
    for (const [given, limits] of [
      [{ ...plain, fastMath: false }, H200],
      [{ ...plain, fastMath: true, dtype: 'float64' }, H200],
      [{ ...plain, fastMath: true }, CPU],
    ] as const) {
      const wanted = planMapReduce({ ...plain, dtype: given.dtype }, limits);
      const found = planMapReduce(given, limits);
      expect(found).toEqual(wanted);
      expect(found).not.toHaveProperty('fastMath');
    }
  });
});
