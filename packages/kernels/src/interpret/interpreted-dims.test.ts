import { REDUCTION_KINDS, type ReductionKind } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../testing/cpu-harness.test.helper.js';
import { runInterpretedProgram } from '../testing/cpu-program.test.helper.js';
import { checkMapReduce } from '../map-reduce/map-reduce-check.test.helper.js';
import { DIMS, sweepCase } from '../map-reduce/wide/wide-cases.test.helper.js';

const limits = {
  ...cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2'),
  interpreted: true,
} as const;

interface DimCase {
  readonly kind: ReductionKind;
  /** The dim of the results. */
  readonly outer: number;
  readonly axis: 0 | 1;
  readonly dtype: 'float32' | 'float64';
}

/** Every reduction for points of dim number `at`; results, axes and data types take turns. */
const casesOf = (at: number): DimCase[] =>
  REDUCTION_KINDS.map((kind, k) => ({
    kind,
    outer: DIMS[(at * 11 + k) % DIMS.length] ?? 1,
    axis: (((at >> 1) + k) % 2) as 0 | 1,
    dtype: (at + (k >> 1)) % 2 === 0 ? 'float32' : 'float64',
  }));

describe('dims of the interpreter', () => {
  test('meet every reduction, as points and as results, and both axes and data types', () => {
    const all = DIMS.flatMap((inner, at) => casesOf(at).map((one) => ({ inner, ...one })));
    const pairs = (of: (one: (typeof all)[number]) => string): number => new Set(all.map(of)).size;
    const [dims, kinds] = [DIMS.length, REDUCTION_KINDS.length];
    expect(pairs(({ inner, kind }) => `${String(inner)} ${kind}`)).toBe(dims * kinds);
    expect(pairs(({ outer, kind }) => `${String(outer)} ${kind}`)).toBe(dims * kinds);
    for (const by of ['axis', 'dtype'] as const) {
      expect(pairs((one) => `${one.kind} ${String(one[by])}`)).toBe(2 * kinds);
      expect(pairs((one) => `${String(one.inner)} ${String(one[by])}`)).toBe(2 * dims);
      expect(pairs((one) => `${String(one.outer)} ${String(one[by])}`)).toBe(2 * dims);
    }
    expect(pairs(({ axis, dtype }) => `${String(axis)} ${dtype}`)).toBe(4);
  });

  test.each(DIMS.map((inner, at) => [inner, at] as const))('%i, turn %i', (inner, at) => {
    for (const { kind, outer, axis, dtype } of casesOf(at)) {
      const one = { ...sweepCase(kind, inner, outer, axis), dtype };
      checkMapReduce({ ...one, rowsI: 5, rowsJ: 7 }, limits, runInterpretedProgram);
    }
  });
});
