import { reduction, type ReductionKind } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { LaunchableKernel, Scalars, KernelProgram } from '../emitted-kernel.js';
import { covering } from '../../../formula/test/covering.mjs';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import {
  EQUAL_TERMS,
  FORM_CASES,
  GATHER_CASES,
  gaussian,
  HALF_CASES,
  KIND_CASES,
  MANY_CASES,
  SIZES,
} from './map-reduce-cases.test-support.js';
import { EVERY_PART_GROUPS, everyPartCase } from './every-part-cases.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';
import { planMapReduce } from './plan.js';

/** Sizes whose plan slices the reduced rows, whose plan splits them, and whose plan gives a thread several rows. */
const FEW = { rowsI: 100, rowsJ: 1000 };
const LONG = { rowsI: 100, rowsJ: 1_000_000 };
const MANY = { rowsI: 4_000_000, rowsJ: 200 };

/** Every case meets every plan at the first of these, and at some of the small ones. */
const LARGE = [{ rowsI: 13, rowsJ: 301 }, ...SIZES.filter(({ rowsI }) => rowsI === 37)];
const SMALL = SIZES.filter(({ rowsI }) => rowsI !== 37);

/** The same text in both data types. */
const LIKE_SUMS: ReadonlySet<ReductionKind> = new Set([
  ...(['Sum', 'Prod', 'Mean', 'Var', 'Any', 'All', 'Count'] as const),
]);

/** A grid without blocks cannot be launched: there is no result. */
const run: typeof runCudaProgram = (program, launch) => {
  const { rowsI = 0, rowsJ = 0, batch = 0 } = launch.scalars;
  if (!launchable(program, { rowsI, rowsJ, batch })) return;
  runCudaProgram(program, launch);
};

const launchable = ({ steps }: KernelProgram<LaunchableKernel>, scalars: Scalars): boolean =>
  steps.every(
    ({ kernel }) =>
      kernel.dialect === 'cuda' && kernel.geometry(scalars).grid.every((blocks) => blocks > 0),
  );

describe('map-reduce on a GPU', () => {
  const dims = [1, 3, 8, 17, 33].map((dim, turn) => [dim, turn] as const);
  test.each(dims)('sums, points of dim %i', (dim, turn) => {
    for (const dtype of covering(['float32', 'float64'] as const, turn)) {
      const one = { reduction: reduction('Sum', gaussian(dim)), dtype, units: 8 + 4 * dim };
      for (const sizes of [...SIZES.slice(0, 1), ...covering(SMALL, turn)]) {
        checkMapReduce({ ...one, ...sizes, planned: MANY }, H200, run);
      }
    }
  });

  test.each(
    [...KIND_CASES, ...FORM_CASES, ...MANY_CASES, ...HALF_CASES, ...GATHER_CASES].map(
      (one, n) => [...one, n] as const,
    ),
  )('%s', (_, one, n) => {
    const dtype = n % 3 === 2 && one.storage === undefined ? 'float64' : 'float32';
    // merges of slices and of parts have a test below with every kind
    for (const planned of covering([FEW, LONG, MANY], n + Math.floor(n / 3), 3)) {
      for (const sizes of [...covering(LARGE, 0), ...covering(SMALL, n)]) {
        checkMapReduce({ ...one, ...sizes, dtype, planned }, H200, run);
      }
    }
  });

  test.each(
    KIND_CASES.filter(([, { reduction: one }], n) => n % 3 === 2 && !LIKE_SUMS.has(one.kind)),
  )('%s, float32', (_, one) => {
    for (const planned of [FEW, MANY]) {
      checkMapReduce({ ...one, rowsI: 37, rowsJ: 301, dtype: 'float32', planned }, H200, run);
    }
  });

  test('a sum of many equal terms holds its bound, sliced, split and not', () => {
    for (const planned of [FEW, LONG, MANY]) {
      checkMapReduce({ ...EQUAL_TERMS, dtype: 'float32', planned }, H200, run);
    }
  });

  test.each(EVERY_PART_GROUPS.map((kinds, n) => [kinds.join(', '), kinds, n] as const))(
    'slices and parts that are merged: %s',
    (_, kinds, n) => {
      const dtype = n % 2 === 0 ? 'float32' : 'float64';
      const given = (terms: number): ReturnType<typeof everyPartCase> =>
        everyPartCase(kinds, { kept: 16, terms, axis: 1 });
      for (const planned of [FEW, LONG]) {
        const problem = { ...given(1000), dtype, batch: 1, ranges: false, ...planned } as const;
        const plan = planMapReduce(problem, H200);
        if (!('splits' in plan && 'slices' in plan)) throw new TypeError(plan.summary);
        // a tile for every part, the last one with gaps
        const terms = Math.max(700, plan.splits * plan.tile - 3);
        checkMapReduce({ ...given(terms), dtype, planned }, H200, run);
      }
    },
  );

  test('plans: slices, parts, rows of a thread', () => {
    const problem = {
      reduction: reduction('Sum', gaussian(3)),
      dtype: 'float32',
      batch: 1,
    } as const;
    expect(planMapReduce({ ...problem, ...FEW }, H200)).toMatchObject({
      splits: 1,
      slices: 64,
      threads: 512,
      rowsPerThread: 1,
    });
    expect(planMapReduce({ ...problem, ...LONG }, H200)).toMatchObject({
      splits: 64,
      slices: 1,
      rowsPerThread: 1,
    });
    expect(planMapReduce({ ...problem, ...MANY }, H200)).toMatchObject({
      splits: 1,
      rowsPerThread: 4,
    });
    const nearest = { ...problem, reduction: reduction('ArgKMin', gaussian(3), { k: 5 }) };
    expect(planMapReduce({ ...nearest, ...LONG }, H200)).toMatchObject({ splits: 64, slices: 1 });
  });
});
