import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { SUM_RANGES } from '../sum-cases.test-support.js';
import { PAIR_TILE_SUM_CASES, PAIR_TILE_SUM_SIZES } from './sum-cases.test-support.js';

const limits = cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2');

describe('sums of long formulas on the CPU', () => {
  test.each(PAIR_TILE_SUM_CASES)('%s', (name, one) => {
    const all = [...PAIR_TILE_SUM_SIZES, ...(name.includes('by blocks') ? [SUM_RANGES] : [])];
    for (const sizes of all) {
      checkMapReduce({ ...one, ...sizes }, { ...limits, cores: 4 }, runCpuProgram);
    }
    expect.assertions(all.length);
  });
});
