import { describe, expect, test } from 'vitest';
import {
  compileKernel,
  cpuTestLimits,
  machines,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { runCpuKernel, runCpuProgram } from '../testing/cpu-program.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { SUM_CASES, SUM_RANGES, SUM_SIZES } from './sum-cases.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);

describe('sums on the CPU', () => {
  test.each(SUM_CASES)('%s', (name, one) => {
    const all = name.includes('special') ? SUM_SIZES.slice(0, 2) : [...SUM_SIZES, SUM_RANGES];
    for (const sizes of all) checkMapReduce({ ...one, ...sizes }, limits, runCpuProgram);
    expect.assertions(all.length);
  });

  test.each(machines())('float64 sums by %s for %s', (compiler, machine) => {
    const cases = SUM_CASES.filter(([name]) => /special values, float64 by blocks/.test(name));
    for (const [, one] of cases) {
      checkMapReduce(
        { ...one, rowsI: 37, rowsJ: 301 },
        { ...limits, level: machine },
        ({ steps }, launch) => {
          for (const { kernel } of steps) {
            if (kernel.dialect !== 'cpu') throw new TypeError(`${kernel.name} is no host kernel`);
            runCpuKernel(kernel, compileKernel(compiler, kernel.source, machine), launch);
          }
        },
      );
    }
    expect(cases).toHaveLength(1);
  });
});
