import { ops, reduction, vi, vj } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { PlanError } from '../../plan-error.js';
import { H200 } from '../../testing/h200.test-support.js';
import type { MapReducePlan } from '../plan-types.js';
import { planMapReduce } from '../plan.js';
import { planRanges, planTasks } from './plan-ranges.js';
import { rangesFromMatrix, swapAxes, type KeptRanges, type RowRange } from './ranges.js';

const CPU = {
  ...({ kind: 'cpu', level: 'x86-64-v3', cores: 2 } as const),
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
};
const planFor = (limits: typeof CPU | typeof H200, ranges = true): MapReducePlan =>
  planMapReduce(
    {
      reduction: reduction('Sum', vi(0, 1)),
      further: [reduction('Min', vj(1, 1))],
      ...({ dtype: 'float32', ranges, rowsI: 8, rowsJ: 1000, batch: 1 } as const),
    },
    limits,
  );
/** 8 rows a task. */
const plan = planFor(CPU);

const rangesI = [
  [2, 5],
  [7, 12],
] as const;
const rangesJ = [
  [1, 4],
  [4, 9],
  [20, 30],
] as const;
const keep = [
  [1, 1, 0],
  [0, 1, 0],
];

describe('ranges', () => {
  test('from a matrix: the worked example of the format', () => {
    const ranges = rangesFromMatrix(rangesI, rangesJ, keep);
    expect(ranges).toEqual({
      rangesI,
      rangesJ,
      slicesI: [2, 3],
      slicesJ: [1, 3, 3],
      redrangesJ: [
        [1, 4],
        [4, 9],
        [4, 9],
      ],
      redrangesI: [
        [2, 5],
        [2, 5],
        [7, 12],
      ],
    });
    const turned = keep[0]?.map((_, l) => keep.map((row) => row[l] ?? 0)) ?? [];
    expect(swapAxes(ranges)).toEqual(rangesFromMatrix(rangesJ, rangesI, turned));
    expect(swapAxes(swapAxes(ranges))).toEqual(ranges);
    const half = { ...ranges, rangesJ: undefined, slicesJ: undefined, redrangesI: undefined };
    expect(() => swapAxes(half as never)).toThrow(
      /there is no rangesJ, slicesJ, redrangesI\. Make ranges of both directions/,
    );
    expect(() => swapAxes({} as never)).toThrow(PlanError);
  });

  test('a matrix of another shape is refused', () => {
    const [first = []] = keep;
    expect(() => rangesFromMatrix(rangesI, rangesJ, [first])).toThrow(
      /2 ranges of i.*'keep' has 1 rows/,
    );
    expect(() => rangesFromMatrix(rangesI, rangesJ, [first, [1]])).toThrow(/one of 1/);
    for (const none of [undefined, 3, [null]] as never[]) {
      expect(() => rangesFromMatrix(rangesI, none, keep)).toThrow(PlanError);
      expect(() => rangesFromMatrix(rangesI, rangesJ, none)).toThrow(/'keep' is .*array of arrays/);
    }
  });

  test('become tasks and spans: the worked example over 14 rows', () => {
    const { tasks, spans, taskCount } = planRanges(
      plan,
      rangesFromMatrix(rangesI, rangesJ, keep),
      ...([14, 30] as const),
    );
    expect([...tasks].map(Number)).toEqual([
      ...[0, 2, 0, 0],
      ...[2, 3, 0, 1],
      ...[5, 2, 0, 0],
      ...[7, 5, 1, 2],
      ...[12, 2, 0, 0],
    ]);
    // [1, 4] and [4, 9] are neighbours
    expect([...spans].map(Number)).toEqual([1, 9, 4, 9]);
    expect(taskCount).toBe(5);
  });

  test.each([
    ['host', CPU, 8],
    ['GPU', H200, 128],
  ] as const)(
    'every kept row is in one task of at most the rows of a %s task',
    (_, limits, most) => {
      const ranges: KeptRanges = {
        // not in order, an empty one, one of a row, one of many tasks
        rangesI: [
          [700, 1000],
          [5, 5],
          [3, 4],
          [10, 600],
        ],
        slicesI: [2, 3, 3, 6],
        redrangesJ: [
          [50, 60],
          [0, 10],
          [7, 8],
          [30, 40],
          [40, 41],
          [2, 3],
        ],
      };
      const { tasks, spans } = planRanges(planFor(limits), ranges, 1003, 60);
      const owner = new Map<number, string>();
      for (let at = 0; at < tasks.length; at += 4) {
        const [first = 0, count = 0, from = 0, until = 0] = [...tasks.slice(at, at + 4)].map(
          Number,
        );
        expect(count).toBeGreaterThan(0);
        expect(count).toBeLessThanOrEqual(most);
        for (let row = first; row < first + count; row++) {
          expect(owner.has(row)).toBe(false);
          owner.set(row, [...spans.slice(2 * from, 2 * until)].join(','));
        }
      }
      const wanted = (row: number): string => {
        if (row >= 700 && row < 1000) return '0,10,50,60';
        return row >= 10 && row < 600 ? '2,3,30,41' : '';
      };
      for (let row = 0; row < 1003; row++) expect(owner.get(row), String(row)).toBe(wanted(row));
    },
  );

  test('tasks of spans in a table of their own are those of a list', () => {
    const ranges = rangesFromMatrix(rangesI, rangesJ, keep);
    const apart = {
      ...ranges,
      redrangesJ: ranges.redrangesJ.map(([a, b]) => [2 * a, 2 * b - 1] as const),
    };
    for (const limits of [CPU, H200]) {
      const plan = planFor(limits);
      // no two spans are neighbours, so that none are joined
      const { spans, ...tasks } = planRanges(plan, apart, 13, 60);
      expect(planTasks(plan, ranges, 13, 3)).toEqual(tasks);
      expect(spans.length).toBe(6);
    }
    expect(() => planTasks(planFor(CPU), ranges, 13, 2)).toThrow(/'redrangesJ' has 2 entries/);
    expect(() => planTasks(planFor(CPU), ranges, 11, 3)).toThrow(/there are 11 rows/);
  });

  test.each([
    [32, 32, 1],
    [64, 32, 2],
    [128, 32, 4],
    [undefined, 128, 2],
  ] as const)('ranges of %s rows get blocks of %i threads', (rangeRows, threads, rowsPerThread) => {
    const gaussian = ops.exp(ops.neg(ops.sqDist(vi(0, 3), vj(1, 3))));
    const problem = { reduction: reduction('Sum', gaussian), dtype: 'float32', batch: 1 } as const;
    const sizes = { ranges: true, rangeRows, rowsI: 1_000_000, rowsJ: 1_000_000 };
    expect(planMapReduce({ ...problem, ...sizes }, H200)).toMatchObject({ threads, rowsPerThread });
    const whole = planMapReduce({ ...problem, ...sizes, ranges: false }, H200);
    expect(whole).toEqual(
      planMapReduce({ ...problem, ...sizes, ranges: false, rangeRows: undefined }, H200),
    );
  });

  test('rows beyond 2^24 and 2^31 are exact', () => {
    const far = 2 ** 33 + 1;
    const { tasks, spans } = planRanges(
      plan,
      { rangesI: [[0, 3]], slicesI: [1], redrangesJ: [[2 ** 24 + 1, far]] },
      ...([3, far] as const),
    );
    expect([...tasks]).toEqual([0n, 3n, 0n, 1n]);
    expect([...spans]).toEqual([2n ** 24n + 1n, 2n ** 33n + 1n]);
  });

  test.each<readonly [what: string, change: Partial<KeptRanges>, message: RegExp]>([
    [
      'past the kept rows',
      {
        rangesI: [
          [2, 5],
          [7, 15],
        ],
      },
      /rangesI\[1\] is \[7, 15\], and there are 14 rows/,
    ],
    [
      'below row 0',
      {
        rangesI: [
          [-1, 5],
          [7, 12],
        ],
      },
      /rangesI\[0\] is \[-1, 5\]/,
    ],
    [
      'backwards',
      {
        rangesI: [
          [5, 2],
          [7, 12],
        ],
      },
      /rangesI\[0\] is \[5, 2\]/,
    ],
    [
      'broken',
      {
        rangesI: [
          [2, 4.5],
          [7, 12],
        ],
      },
      /rangesI\[0\] is \[2, 4\.5\]/,
    ],
    [
      'overlapping',
      {
        rangesI: [
          [7, 12],
          [2, 8],
        ],
      },
      /\[2, 8\] and \[7, 12\] in 'rangesI' overlap/,
    ],
    [
      'past the reduced rows',
      {
        redrangesJ: [
          [1, 4],
          [4, 9],
          [4, 31],
        ],
      },
      /redrangesJ\[2\] is \[4, 31\], and there are 30 rows/,
    ],
    [
      'reduced twice',
      {
        redrangesJ: [
          [1, 5],
          [4, 9],
          [4, 9],
        ],
      },
      /\[1, 5\] and \[4, 9\] in 'redrangesJ' overlap/,
    ],
    ['decreasing slices', { slicesI: [2, 1] }, /slicesI\[1\] is 1, the entry before it 2/],
    ['slices past the end', { slicesI: [2, 4] }, /slicesI\[1\] is 4.*'redrangesJ' has 3 entries/],
    ['too few slices', { slicesI: [2] }, /2 ranges in 'rangesI' and 1 entries in 'slicesI'/],
    ['slices of NaN', { slicesI: [NaN, 3] }, /slicesI\[0\] is NaN/],
  ])('%s is refused', (_, change, message) => {
    const ranges = { ...rangesFromMatrix(rangesI, rangesJ, keep), ...change };
    expect(() => planRanges(plan, ranges, 14, 30)).toThrow(message);
  });

  test('a plan without ranges is refused', () => {
    const none: readonly RowRange[] = [];
    expect(() =>
      planRanges(planFor(CPU, false), { rangesI: none, slicesI: [], redrangesJ: none }, 1, 1),
    ).toThrow(/has none\. Plan the map-reduce with ranges: true/);
  });
});
