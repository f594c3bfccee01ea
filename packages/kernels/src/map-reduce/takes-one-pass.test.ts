import { ops, reduction, vi, vj, type Reduction } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import { H200 } from '../testing/h200.test-support.js';
import { MAP_REDUCE_LIMITS, takesOnePass } from './choose-schedule.js';
import { planMapReduce } from './plan.js';
import type { MapReduceProblem } from './problem.js';

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

  it('is so in tiles where the formulas share their work, and else not', () => {
    const other = reduction('Sum', ops.sqDist(vi(2, 100), vj(3, 100)));
    const largest = reduction('Max', ops.sqDist(vi(0, 100), vj(1, 100)));
    for (const limits of [cpu, H200]) {
      expect('form' in planMapReduce(problem([square(100), least(100)]), limits)).toBe(true);
      expect(takesOnePass(problem([square(100), largest]), limits)).toBe(true);
      expect(takesOnePass(problem([square(100), other]), limits)).toBe(false);
      expect(takesOnePass(problem([square(100), other, largest]), limits)).toBe(true);
    }
    const kahan = { sumScheme: 'kahan' } as const;
    expect(takesOnePass(problem([square(100), least(100)], kahan), cpu)).toBe(true);
  });

  it('is not so where short formulas would have to be in tiles', () => {
    const half = MAP_REDUCE_LIMITS.results / 2;
    expect(takesOnePass(problem([least(3, half), least(3, half)]), H200)).toBe(true);
    expect(takesOnePass(problem([least(3, half), least(3, half), square(3)]), H200)).toBe(false);
  });

  it('is not so in tiles of a GPU with lists of the K best, or with columns that several blocks of threads share', () => {
    for (const [limits, isOne] of [
      [H200, false],
      [cpu, true],
    ] as const) {
      expect(takesOnePass(problem([square(100), least(100)]), limits)).toBe(isOne);
      const columns = (dim: number): Reduction =>
        reduction('Sum', ops.mul(ops.sqDist(vi(0, dim), vj(1, dim)), vj(1, dim)));
      expect(takesOnePass(problem([square(128), columns(128)]), limits)).toBe(true);
      expect(takesOnePass(problem([square(129), columns(129)]), limits)).toBe(isOne);
    }
  });

  it('keeps a row per thread for longer rows on a GPU where there are several columns', () => {
    const columns = (dim: number): Reduction =>
      reduction('Sum', ops.mul(ops.sqDist(vi(0, dim), vj(1, dim)), vj(1, dim)));
    const isTiled = (...all: readonly [Reduction, ...Reduction[]]): boolean =>
      'form' in planMapReduce(problem(all), H200);
    expect(isTiled(square(40), columns(40))).toBe(false);
    expect(isTiled(square(41), columns(41))).toBe(true);
    expect(isTiled(square(40), square(40))).toBe(true);
    expect(isTiled(columns(40))).toBe(false);
    expect(isTiled(columns(41))).toBe(true);
  });

  it('is so on the interpreter', () => {
    const interpreted = { ...cpu, interpreted: true } as const;
    expect(takesOnePass(problem([square(3), least(3)]), interpreted)).toBe(true);
    expect(takesOnePass(problem([square(300), least(300)]), interpreted)).toBe(true);
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
