import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { PAIR_TILE_GATHER_CASES } from './gather-cases.test-support.js';

const limits = cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2');

describe('rows by index in formulas of long vectors on the CPU', () => {
  test.each(PAIR_TILE_GATHER_CASES.map(([name, one], n) => [name, one, n] as const))(
    '%s',
    (_, one, n) => {
      const dtype = n % 4 === 1 ? 'float64' : 'float32';
      // several vectors of rows in every other plan
      const planned = n % 2 === 0 ? {} : { planned: { rowsI: 1000, rowsJ: 1000 } };
      checkMapReduce({ ...one, ...planned, dtype }, limits, runCpuProgram);
      expect.assertions(1);
    },
  );
});
