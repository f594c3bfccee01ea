import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram, runInterpretedProgram } from '../testing/cpu-program.test-support.js';
import { checkMapReduce, type MapReduceCase } from './map-reduce-check.test-support.js';
import { PAIR_CASES, PAIR_RANGE_CASES, LOOPED_PAIR_CASES } from './pair-cases.test-support.js';
import { planMapReduce } from './plan.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);
const interpreted = { ...limits, interpreted: true } as const;
const SIZES = [
  { rowsI: 37, rowsJ: 301 },
  { rowsI: 3, rowsJ: 7, batch: 3 },
  { rowsI: 0, rowsJ: 5 },
  { rowsI: 5, rowsJ: 0 },
  { rowsI: 600, rowsJ: 5 },
] as const;
const planned = { rowsI: 1000, rowsJ: 1000 };
const dtypeOf = (one: Pick<MapReduceCase, 'storage'>, n: number): 'float32' | 'float64' =>
  n % 2 === 0 || one.storage !== undefined ? 'float32' : 'float64';

describe('values of pairs on the CPU', () => {
  const all = [...PAIR_CASES, ...LOOPED_PAIR_CASES].map((one, n) => [...one, n] as const);
  test.each(all)('%s', (_, one, n) => {
    for (const sizes of SIZES) {
      checkMapReduce({ ...one, ...sizes, dtype: dtypeOf(one, n), planned }, limits, runCpuProgram);
    }
  });

  test.each(all)('%s, interpreted', (_, one, n) => {
    for (const sizes of SIZES) {
      const given = { ...one, ...sizes, dtype: dtypeOf(one, n + 1) };
      checkMapReduce(given, interpreted, runInterpretedProgram);
    }
    // more than one tile of kept rows
    const large = { ...one, rowsI: 1030, rowsJ: 3, dtype: dtypeOf(one, n) };
    checkMapReduce(large, interpreted, runInterpretedProgram);
  });

  test.each(PAIR_RANGE_CASES)('%s', (_, one) => {
    checkMapReduce({ ...one, dtype: 'float32' }, limits, runCpuProgram);
    checkMapReduce({ ...one, dtype: 'float64' }, interpreted, runInterpretedProgram);
  });

  test.each([...PAIR_CASES.slice(0, 5), ...LOOPED_PAIR_CASES.slice(0, 1)])(
    '%s, in parts that are merged',
    (_, one) => {
      const sizes = { rowsI: 5, rowsJ: 5900 };
      const given = { ...one, ...sizes, dtype: 'float32' } as const;
      const { further = [], reduction } = one;
      const plan = planMapReduce(
        { ...sizes, reduction, further, dtype: 'float32', batch: 1 },
        limits,
      );
      if (reduction.axis === 1) expect(plan.splits).toBeGreaterThan(1);
      checkMapReduce(given, limits, runCpuProgram);
    },
  );

  test('both texts are among the cases', () => {
    const forms = [...PAIR_CASES, ...LOOPED_PAIR_CASES].map(([, one]) => {
      const { reduction, further = [] } = one;
      const plan = planMapReduce(
        { reduction, further, dtype: 'float32', batch: 1, ...planned },
        limits,
      );
      return 'form' in plan;
    });
    expect(forms.filter((isTiled) => isTiled).length).toBeGreaterThan(5);
    expect(forms.filter((isTiled) => !isTiled).length).toBeGreaterThan(10);
  });
});
