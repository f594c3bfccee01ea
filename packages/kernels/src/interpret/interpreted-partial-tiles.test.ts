import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from '@mercer/cpu-runtime';
import { KIND_CASES, MANY_CASES } from '../map-reduce/map-reduce-cases.test-support.js';
import { checkMapReduce } from '../map-reduce/map-reduce-check.test-support.js';
import type { KeptRanges } from '../map-reduce/ranges/ranges.js';
import { SUM_CASES } from '../map-reduce/sum-cases.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runInterpretedProgram } from '../testing/cpu-program.test-support.js';
import { fillScratchWithNaN } from '../testing/interpreted-kernel.test-support.js';

// The last tile of the kept rows is seldom a whole one. What it holds behind the rows, and whatever else is in scratch memory,
// comes from the launch before: here it is NaN, so that a value which is read before it is written shows.
const limits = {
  kind: 'cpu',
  cores: 2,
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
  interpreted: true,
} as const;

/** Tasks of 1 row, of a few, of a whole tile and some; a task without a span, an empty span, rows of no task. */
const RANGES: KeptRanges = {
  rangesI: [
    [1, 2],
    [5, 22],
    [30, 563],
    [563, 570],
    [580, 600],
  ],
  slicesI: [1, 3, 5, 5, 6],
  redrangesJ: [
    [0, 1],
    [2, 2],
    [3, 9],
    [0, 4],
    [6, 11],
    [7, 7],
  ],
};

/** All rows kept (one thread has tiles of 512 rows from 1537 on: the last has 5), and ranges. */
const SIZES = [
  { kept: 1541, reduced: 9 },
  { kept: 601, reduced: 11, ranges: RANGES, batch: 2 },
] as const;

// Every case meets every level with one of both dtypes: they take turns.
const levels = runnableLevels().map((level, turn) => [level, turn] as const);

describe.each(levels)('tiles that are not full, by %s', (level, turn) => {
  const threads = cpu.threads;
  beforeAll(() => {
    cpu.setThreads(1); // whose scratch memory is filled
  });
  afterAll(() => {
    cpu.setThreads(threads);
  });

  const cases = [
    ...covering(
      [...KIND_CASES, ...MANY_CASES].flatMap(([name, one]) =>
        (['float32', 'float64'] as const).map(
          (dtype) => [`${name}, ${dtype}`, { ...one, dtype }] as const,
        ),
      ),
      turn,
    ),
    ...covering(
      SUM_CASES.map(([name, one]) => [`sums, ${name}`, one] as const),
      turn,
    ),
  ];
  it.each(cases)('%s', (_, one) => {
    for (const { kept, reduced, ...rest } of SIZES) {
      const [rowsI, rowsJ] = one.reduction.axis === 1 ? [kept, reduced] : [reduced, kept];
      checkMapReduce({ ...one, rowsI, rowsJ, ...rest }, { ...limits, level }, (program, launch) => {
        fillScratchWithNaN(level);
        runInterpretedProgram(program, launch, level);
      });
    }
    expect.assertions(SIZES.length);
  });
});
