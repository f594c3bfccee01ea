import { describe, expect, test } from 'vitest';
import type { PairwiseDType } from '../dtype.js';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { missingPairs } from '../../../formula/test/missing-pairs.mjs';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { PAIR_CASES, PAIR_RANGE_CASES, LOOPED_PAIR_CASES } from './pair-cases.test-support.js';
import { planMapReduce } from './plan.js';

/** Sizes whose plan splits the reduced rows, and whose plan does not. */
const FEW = { rowsI: 100, rowsJ: 20_000 };
const MANY = { rowsI: 1_000_000, rowsJ: 1_000_000 };
const swapped = ({ rowsI, rowsJ }: typeof FEW): typeof FEW => ({ rowsI: rowsJ, rowsJ: rowsI });

const isFull = process.env['MERCER_TEST_FULL'] === '1';

/** Every case by a plan in parts or by one that is whole, in turn, or with MERCER_TEST_FULL=1 by both; the one that reads directly by both. */
const PLANNED = [...PAIR_CASES, ...LOOPED_PAIR_CASES].flatMap(([name, one], n) => {
  const { axis } = one.reduction;
  const few = axis === 1 ? FEW : swapped(FEW);
  const dtype: PairwiseDType = n % 3 === 2 && one.storage === undefined ? 'float64' : 'float32';
  return [few, MANY].map((planned) => {
    const { reduction, further = [], storage = {} } = one;
    const problem = { reduction, further, storage, dtype, batch: 1, ...planned } as const;
    const plan = planMapReduce(problem, H200);
    const pairs = ('pairs' in plan ? plan.pairs : undefined) ?? 'looped';
    return { name, one, planned, dtype, axis, pairs, parts: plan.splits > 1 };
  });
});
const COVERING_PLANNED = PLANNED.filter(
  ({ pairs }, at) => isFull || pairs === 'direct' || (at + Math.floor(at / 2)) % 2 === 0,
);

describe('values of pairs on a GPU', () => {
  const covering = COVERING_PLANNED.map((each) => [each.name, each.parts, each] as const);
  test.each(covering)('%s, in parts: %s', (_name, _parts, { one, planned, dtype }) => {
    for (const sizes of [
      { rowsI: 37, rowsJ: 131 },
      { rowsI: 3, rowsJ: 7, batch: 2 },
    ]) {
      checkMapReduce({ ...one, ...sizes, dtype, planned }, H200, runCudaProgram);
    }
  });

  test('those that run meet every two ways, axes, types and parts that all together meet', () => {
    const factors = Object.fromEntries(
      (['axis', 'dtype', 'pairs', 'parts'] as const).map((factor) => [
        factor,
        [...new Set(PLANNED.map((each) => each[factor]))],
      ]),
    );
    expect(missingPairs(COVERING_PLANNED, factors)).toEqual(missingPairs(PLANNED, factors));
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
