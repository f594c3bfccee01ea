import { ops, reduction, vi, vj, type Reduction } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import { H200 } from '../testing/h200.test-support.js';
import { MAP_REDUCE_LIMITS } from './limits.js';
import { planMapReduce } from './plan.js';
import type { MapReduceProblem } from './problem.js';
import { takesOnePass } from './takes-one-pass.js';

const cpu: DeviceLimits = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 4,
  l1Bytes: 32768,
  l2Bytes: 1048576,
};
const square = (dim: number): Reduction => reduction('Sum', ops.sqDist(vi(0, dim), vj(1, dim)));
const least = (dim: number, k = 1): Reduction =>
  reduction('KMin', ops.sqDist(vi(0, dim), vj(1, dim)), { k });
const problem = (
  [first, ...further]: readonly [Reduction, ...Reduction[]],
  options: Partial<MapReduceProblem> = {},
): MapReduceProblem => ({
  reduction: first,
  further,
  dtype: 'float32',
  rowsI: 100,
  rowsJ: 100,
  batch: 1,
  ...options,
});

describe('takesOnePass', () => {
  it('is so where all is written out, alone and together', () => {
    expect(takesOnePass(problem([square(3), least(3, 5)]), cpu)).toBe(true);
    expect(takesOnePass(problem([square(3)]), cpu)).toBe(true);
    expect(takesOnePass(problem([square(300)]), cpu)).toBe(true);
  });

  it('is not so where one of them is computed by loops', () => {
    const short = square(3);
    for (const dim of [20, 100]) {
      const alone = planMapReduce(problem([least(dim)]), cpu);
      expect('form' in alone).toBe(true);
      expect(takesOnePass(problem([short, least(dim)]), cpu)).toBe(false);
      expect(takesOnePass(problem([least(dim), short]), cpu)).toBe(false);
    }
    // Tiles of unusual sums are quicker from a longer vector on.
    const kahan = { sumScheme: 'kahan' } as const;
    expect(takesOnePass(problem([square(16), square(16)], kahan), cpu)).toBe(true);
    expect(takesOnePass(problem([square(17), square(17)], kahan), cpu)).toBe(false);
  });

  it('has longer rows on a GPU where there are several columns', () => {
    const columns = (dim: number): Reduction =>
      reduction('Sum', ops.mul(ops.sqDist(vi(0, dim), vj(1, dim)), vj(1, dim)));
    expect(takesOnePass(problem([square(40), columns(40)]), H200)).toBe(true);
    expect(takesOnePass(problem([square(41), columns(41)]), H200)).toBe(false);
    expect(takesOnePass(problem([square(40), square(40)]), H200)).toBe(false);
    expect('form' in planMapReduce(problem([columns(40)]), H200)).toBe(false);
    expect('form' in planMapReduce(problem([columns(41)]), H200)).toBe(true);
  });

  it('is not so where one kernel cannot hold all results, each of which it can', () => {
    const half = MAP_REDUCE_LIMITS.results / 2;
    expect(takesOnePass(problem([least(3, half), least(3, half)]), cpu)).toBe(true);
    expect(takesOnePass(problem([least(3, half), least(3, half), square(3)]), cpu)).toBe(false);
  });

  it('is not so on the interpreter', () => {
    expect(takesOnePass(problem([square(3), least(3)]), { ...cpu, interpreted: true })).toBe(false);
  });

  it('refuses unusual sums of what is no sum, but for what adds nothing beside a sum', () => {
    const mixed = problem([square(3), least(3)], { sumScheme: 'kahan' });
    expect(takesOnePass(mixed, cpu)).toBe(true);
    const none = problem([least(3), least(3)], { sumScheme: 'kahan' });
    expect(() => takesOnePass(none, cpu)).toThrow(/KMin takes neither/);
    const product = reduction('Prod', ops.sqDist(vi(0, 3), vj(1, 3)));
    const multiplied = problem([square(3), product], { sumScheme: 'kahan' });
    expect(() => takesOnePass(multiplied, cpu)).toThrow(/Prod takes neither/);
    const interpreted = { ...cpu, interpreted: true } as const;
    expect(() => takesOnePass(multiplied, interpreted)).toThrow(/Prod takes neither/);
  });
});
