import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { PAIR_CASES, PAIR_RANGE_CASES, LOOPED_PAIR_CASES } from './pair-cases.test-support.js';
import { planMapReduce } from './plan.js';

/** Sizes whose plan splits the reduced rows, and whose plan does not. */
const FEW = { rowsI: 100, rowsJ: 20_000 };
const MANY = { rowsI: 1_000_000, rowsJ: 1_000_000 };
const swapped = ({ rowsI, rowsJ }: typeof FEW): typeof FEW => ({ rowsI: rowsJ, rowsJ: rowsI });

describe('values of pairs on a GPU', () => {
  const all = [...PAIR_CASES, ...LOOPED_PAIR_CASES].map((one, n) => [...one, n] as const);
  test.each(all)('%s', (_, one, n) => {
    const dtype = n % 3 === 2 && one.storage === undefined ? 'float64' : 'float32';
    const few = one.reduction.axis === 1 ? FEW : swapped(FEW);
    for (const planned of [few, MANY]) {
      checkMapReduce({ ...one, rowsI: 37, rowsJ: 131, dtype, planned }, H200, runCudaProgram);
      checkMapReduce(
        { ...one, rowsI: 3, rowsJ: 7, batch: 2, dtype, planned },
        H200,
        runCudaProgram,
      );
    }
  });

  const inRanges = PAIR_RANGE_CASES.map((one, n) => [...one, n] as const);
  test.each(inRanges)('%s', (_, one, n) => {
    const dtype = n % 2 === 0 ? 'float32' : 'float64';
    checkMapReduce({ ...one, dtype }, H200, runCudaProgram);
  });

  test('plans: through shared memory or not, in parts, no slices', () => {
    const of = (name: string): (typeof PAIR_CASES)[number][1] => {
      const found = PAIR_CASES.find(([known]) => known === name);
      if (found === undefined) throw new RangeError(`there is no case '${name}'`);
      return found[1];
    };
    const plan = (name: string, sizes: typeof FEW, dtype: 'float32' | 'float64') => {
      const { reduction, further = [] } = of(name);
      return planMapReduce({ reduction, further, dtype, batch: 1, ...sizes }, H200);
    };
    const staged = { pairs: 'staged', slices: 1, rowsPerThread: 1 };
    const product = 'a stored matrix times rows';
    expect(plan(product, MANY, 'float32')).toMatchObject({ ...staged, splits: 1, tile: 32 });
    const inParts = plan(product, FEW, 'float64');
    expect(inParts).toMatchObject({ ...staged, tile: 32 });
    expect(inParts.splits).toBeGreaterThan(1);
    expect(plan('components of a pair', MANY, 'float64')).toMatchObject({ ...staged, tile: 8 });
    const many = plan('many components of a pair', MANY, 'float32');
    expect(many).toMatchObject({ pairs: 'direct', slices: 1 });
  });
});
