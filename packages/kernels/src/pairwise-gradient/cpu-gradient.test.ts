import { describe, test } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { CASES, checkGradient, PARAMETER_CASES } from './gradient-check.test-support.js';

const limitsOf = (level: CpuLimits['level']): CpuLimits => ({
  kind: 'cpu',
  level,
  cores: 2,
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
});

// Warnings are errors; every buffer ends at a page that may not be touched.
describe.each(runnableLevels())('gradient kernels on %s', (level) => {
  // The highest level runs every case, the others one of each kind of text.
  const highest = level === runnableLevels().at(-1);
  const cases = highest ? CASES : [CASES[3], CASES[4]].filter((each) => each !== undefined);

  test.each(cases)('rows: $name', (each) => {
    checkGradient(each, 'rows', {
      limits: limitsOf(level),
      run: (program, launch) => {
        runCpuProgram(program, launch, level);
      },
    });
  });

  test.each(highest ? PARAMETER_CASES : PARAMETER_CASES.slice(1))('parameters: $name', (each) => {
    checkGradient(each, each.forward.parameters ?? ['p'], {
      limits: limitsOf(level),
      run: (program, launch) => {
        runCpuProgram(program, launch, level);
      },
    });
  });
});
