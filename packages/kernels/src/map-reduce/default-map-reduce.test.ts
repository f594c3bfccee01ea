import {
  finish,
  postOrderVector,
  REDUCTION_KINDS,
  type Reduction,
  type ReductionKind,
} from '@mercer/formula/plan';
import { describe, expect, test } from 'vitest';
import { H200 } from '../testing/h200.test-support.js';
import { mapReduceProblems } from './default-map-reduce.test-support.js';
import type { MapReduceProblem } from './problem.js';
import { rootsOf } from './lowering/written-out.js';
import { chooseSchedule } from './choose-schedule.js';

const problems = mapReduceProblems();
const all = ({ reduction, further = [] }: MapReduceProblem): readonly Reduction[] => [
  reduction,
  ...further,
];
/** Values, row numbers and both of them are one family. */
const family = (kind: ReductionKind): string => kind.replace(/^.*Arg/, '');

const takesRowsByIndex = (one: Reduction): boolean =>
  postOrderVector(...rootsOf(one)).some((node) => node.kind === 'gather');

describe('the default problems', () => {
  test('have a reduction of every family', () => {
    const have = new Set(problems.flatMap((one) => all(one).map(({ kind }) => family(kind))));
    expect(REDUCTION_KINDS.filter((kind) => !have.has(family(kind)))).toEqual([]);
  });

  test.each([
    ['reductions over i', (one: MapReduceProblem) => one.reduction.axis === 0],
    ['ranges of rows', (one: MapReduceProblem) => one.ranges === true],
    ['rows in 16 bits', (one: MapReduceProblem) => one.storage !== undefined],
    ['several reductions', (one: MapReduceProblem) => (one.further ?? []).length > 0],
    ['rows by index', (one: MapReduceProblem) => all(one).some(takesRowsByIndex)],
    ['sums in float64', (one: MapReduceProblem) => one.accumulate === 'float64'],
    ['compensated sums', (one: MapReduceProblem) => one.sumScheme === 'kahan'],
  ])('have both schedules with %s', (_, has) => {
    const schedules = problems.filter(has).map((one) => finish(chooseSchedule(one, H200)));
    expect(new Set(schedules)).toEqual(new Set(['row per thread', 'pair tile']));
  });
});
