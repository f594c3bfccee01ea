import { ops, reduction, vi, vj } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../../testing/cuda-emulator.test-support.js';
import { random } from '../../testing/pairwise-check.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce, type MapReduceCase } from '../map-reduce-check.test-support.js';
import { planMapReduce } from '../plan.js';
import { STRUCTURE_CASES, sweepCase, VARIANT_CASES } from './cases.test-support.js';

type Given = Omit<MapReduceCase, 'dtype'>;

/** Sizes whose plan splits the reduced rows, and whose plan does not. */
const FEW = { rowsI: 300, rowsJ: 10_000 };
const OVER_I = { rowsI: 10_000, rowsJ: 300 };
const MANY = { rowsI: 100_000, rowsJ: 10_000 };

const named = (wanted: string): Pick<Given, 'reduction' | 'fill' | 'units'> => {
  const found = STRUCTURE_CASES.find(([name]) => name === wanted);
  if (found === undefined) throw new RangeError(`there is no case '${wanted}'`);
  return found[1];
};

/** Mostly zeros, so that distances are equal often, with a NaN and an infinity in some rows. */
const tied = (): number => {
  const r = random();
  if (r < 0.004) return r < 0.002 ? NaN : Infinity;
  return r < 0.04 ? 1 : 0;
};
const nearest = (kind: 'KMinArgKMin' | 'KMaxArgKMax', k: number, axis: 0 | 1): Given => ({
  reduction: reduction(kind, ops.sqDist(vi(0, 70), vj(1, 70)), { k, axis }),
  fill: tied,
  units: 0,
  rowsI: 19,
  rowsJ: 300,
});

const CASES: readonly (readonly [name: string, Given])[] = [
  ['sums in parts', { ...sweepCase('Sum', 300, 1, 1), planned: FEW, rowsI: 19, rowsJ: 90 }],
  [
    'the first of equals',
    { ...sweepCase('MaxArgMax', 99, 1, 0), planned: MANY, rowsI: 70, rowsJ: 5, batch: 2 },
  ],
  [
    'the three nearest, in parts',
    { ...sweepCase('KMinArgKMin', 70, 1, 1), planned: FEW, rowsI: 5, rowsJ: 80 },
  ],
  [
    'log-sum-exp in parts',
    { ...sweepCase('LogSumExp', 130, 1, 1), planned: FEW, rowsI: 5, rowsJ: 30 },
  ],
  [
    'weighted columns',
    { ...sweepCase('SumSoftMaxWeight', 130, 70, 1), planned: MANY, rowsI: 5, rowsJ: 70 },
  ],
  ['sums and columns', { ...sweepCase('Sum', 130, 131, 1), planned: MANY, rowsI: 3, rowsJ: 67 }],
  [
    'sums of columns, in parts',
    { ...sweepCase('Mean', 70, 37, 1), planned: FEW, rowsI: 5, rowsJ: 150, batch: 2 },
  ],
  [
    'weighted columns over i, in parts',
    { ...sweepCase('SumSoftMaxWeight', 40, 37, 0), planned: OVER_I, rowsI: 150, rowsJ: 5 },
  ],
  [
    'extrema of columns, in parts',
    { ...sweepCase('MinArgMin', 33, 18, 1), planned: FEW, rowsI: 5, rowsJ: 150 },
  ],
  [
    'extrema of columns',
    { ...sweepCase('MinArgMin', 3, 140, 0), planned: MANY, rowsI: 40, rowsJ: 3 },
  ],
  [
    'the two smallest of columns',
    { ...sweepCase('KMin', 3, 70, 1), planned: MANY, rowsI: 3, rowsJ: 9 },
  ],
  ['nothing to see', { ...sweepCase('Mean', 70, 70, 1), planned: MANY, rowsI: 3, rowsJ: 0 }],
  ['a matrix of every j', { ...named('a matrix of every j'), planned: MANY, rowsI: 3, rowsJ: 5 }],
  [
    'one sum within another',
    { ...named('one sum within another'), planned: FEW, rowsI: 3, rowsJ: 5 },
  ],
  ['20 nearest among ties and NaN, in parts', { ...nearest('KMinArgKMin', 20, 1), planned: FEW }],
  ['20 farthest, float64', { ...nearest('KMaxArgKMax', 20, 1), planned: MANY, batch: 2 }],
  ['fewer rows than nearest', { ...nearest('KMinArgKMin', 40, 0), planned: MANY }],
  ['5 farthest over i', { ...nearest('KMaxArgKMax', 5, 0), planned: MANY, rowsI: 200 }],
  ['as many as threads', { ...nearest('KMinArgKMin', 16, 1), planned: FEW, rowsJ: 130 }],
  ['Concat and Extract', { ...named('Concat and Extract'), planned: MANY, rowsI: 3, rowsJ: 5 }],
];

describe('map-reduce of long vectors on a GPU', () => {
  test.each(CASES.map(([name, one], n) => [name, one, n] as const))('%s', (_, one, n) => {
    const dtype = n % 3 === 1 ? 'float64' : 'float32';
    checkMapReduce({ ...one, dtype }, H200, runCudaProgram);
  });

  test.each(VARIANT_CASES)('%s', (_, one) => {
    checkMapReduce({ ...one, dtype: 'float32' }, H200, runCudaProgram);
  });

  test('a long sum of equal terms holds its bound', () => {
    const dim = 3000;
    const one = reduction('Max', ops.dot(vi(0, dim), vj(1, dim)));
    const sizes = { rowsI: 2, rowsJ: 3, planned: MANY };
    const units = 2 * Math.sqrt(dim);
    checkMapReduce(
      { reduction: one, dtype: 'float32', fill: () => 0.1, units, ...sizes },
      H200,
      runCudaProgram,
    );
  });

  test('a running result that shared memory does not take is refused', () => {
    const nearest = reduction('KMin', ops.sqDist(vi(0, 100), vj(1, 100)), { k: 1000 });
    const problem = { reduction: nearest, dtype: 'float32', ...MANY, batch: 1 } as const;
    expect(() => planMapReduce(problem, H200)).toThrow(/2000 numbers.*ask for fewer extrema/);
  });
});
