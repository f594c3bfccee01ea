import { describe, expect, test } from 'vitest';
import { covering } from '../../../../formula/test/covering.mjs';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram, runInterpretedProgram } from '../../testing/cpu-program.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { SUM_RANGES } from '../sum-cases.test-support.js';
import { PAIR_TILE_MANY_CASES } from './many-cases.test-support.js';

const limits = cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2');

describe('several reductions of long formulas on the CPU', () => {
  // whole and in parts that are merged: every other case each, and all of both with MERCER_TEST_FULL=1
  const whole = [{ rowsI: 37, rowsJ: 301, batch: 2 }];
  const inParts = [300, 0].map((rowsJ) => ({
    rowsI: rowsJ === 0 ? 3 : 5,
    rowsJ,
    planned: { rowsI: 2, rowsJ: 3000 },
  }));
  test.each(PAIR_TILE_MANY_CASES.map(([name, one], n) => [name, one, n] as const))(
    '%s',
    (_, one, n) => {
      const sizes =
        one.ranges === undefined
          ? covering([whole, inParts], n).flat()
          : [{ ...SUM_RANGES, planned: { rowsI: 100_000, rowsJ: 100_000 } }];
      for (const size of sizes) checkMapReduce({ ...one, ...size }, limits, runCpuProgram);
      expect.assertions(sizes.length);
    },
  );

  test.each(PAIR_TILE_MANY_CASES)('%s, by the interpreter', (_, one) => {
    const sizes = one.ranges === undefined ? { rowsI: 37, rowsJ: 101, batch: 2 } : SUM_RANGES;
    checkMapReduce({ ...one, ...sizes }, { ...limits, interpreted: true }, runInterpretedProgram);
    expect.assertions(1);
  });
});
