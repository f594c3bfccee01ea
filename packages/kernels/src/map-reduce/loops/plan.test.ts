import {
  indexI,
  lift,
  ops,
  pm,
  pow,
  reduction,
  variable,
  vi,
  vj,
  type Reduction,
  type VectorExpr,
} from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { CpuLimits, DeviceLimits } from '../../device-limits.js';
import { H200 } from '../../testing/h200.test-support.js';
import { emitMapReduce } from '../emit.js';
import type { MapReducePlan } from '../plan-types.js';
import { planMapReduce } from '../plan.js';
import type { MapReduceProblem } from '../problem.js';
import { plainCopy } from '../../testing/plain-copy.test-support.js';

const CPU: CpuLimits = {
  ...({ kind: 'cpu', level: 'x86-64-v4', cores: 2 } as const),
  l1Bytes: 49152,
  l2Bytes: 1 << 20,
};
const SIZED = { dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 } as const;
const plan = (
  one: Reduction,
  limits: DeviceLimits = CPU,
  more: Partial<MapReduceProblem> = {},
): MapReducePlan => planMapReduce({ ...SIZED, ...more, reduction: one }, limits);

const distance = ops.sqDist(vi(0, 200), vj(1, 200));
const gaussian = ops.exp(ops.neg(distance));

describe('plans of long vectors', () => {
  test('are frozen data that give the same text again', () => {
    for (const limits of [CPU, H200]) {
      const one = plan(reduction('Sum', ops.mul(gaussian, vj(2, 70))), limits);
      const copy = plainCopy(one);
      expect(Object.isFrozen(one)).toBe(true);
      expect(copy).toEqual(one);
      const sources = (from: MapReducePlan) =>
        emitMapReduce(from).steps.map(({ kernel }) => kernel.source);
      expect(sources(copy)).toEqual(sources(one));
      expect(one.summary).toMatch(
        /^map-reduce float32 Sum over j of 70, i 200 j 270, loops 1, .* blocks of [345] columns/,
      );
    }
  });

  test('a distance is one loop, what columns share one pair value, and no text grows with the dims', () => {
    const text = (dim: number, columns: number): number => {
      const far = ops.exp(ops.neg(ops.sqDist(vi(0, dim), vj(1, dim))));
      const one = plan(reduction('Sum', ops.mul(far, vj(2, columns))));
      if (!('form' in one)) throw new TypeError('no loops');
      expect(one.formula).toMatchObject({ columns, pair: 1, loops: [{ size: dim, parent: '' }] });
      return emitMapReduce(one).steps[0]?.kernel.source.length ?? NaN;
    };
    expect(text(8000, 4000) - text(200, 400)).toBeLessThan(200);
  });

  test('results of more than 48 words are blocks of columns on a GPU, whatever they are made of', () => {
    const of = (columns: number): VectorExpr => ops.abs(ops.sub(vi(0, columns), vj(1, columns)));
    const isLooped = (columns: number, dtype: 'float32' | 'float64'): boolean =>
      'form' in plan(reduction('Sum', of(columns)), H200, { dtype });
    expect([48, 49].map((columns) => isLooped(columns, 'float32'))).toEqual([false, true]);
    expect([24, 25].map((columns) => isLooped(columns, 'float64'))).toEqual([false, true]);
  });

  test('steps that take many instructions are written out fewer times', () => {
    const text = (formula: VectorExpr): string =>
      emitMapReduce(plan(reduction('Sum', formula), H200)).steps[0]?.kernel.source ?? '';
    const [x, y] = [vi(0, 64), vj(1, 64)];
    const powers = lift(pow(variable('base'), variable('exponent')), (name) =>
      name === 'base' ? ops.abs(ops.sub(x, y)) : pm(2, 1),
    );
    expect(text(ops.sqDist(x, y))).toMatch(/#pragma unroll\n\s*for \(Step \w+_step/);
    expect(text(ops.sum(powers))).toMatch(/#pragma unroll 2\n\s*for \(Step \w+_step/);
  });

  test('sums of the same length run together, and those of other sums after them', () => {
    const [x, y] = [vi(0, 200), vj(1, 200)];
    const both = ops.add(ops.dot(x, y), ops.sqDist(x, y));
    const loopGroupsOf = (one: Reduction): number =>
      (emitMapReduce(plan(one)).steps[0]?.kernel.source.match(/_run = 0/g) ?? []).length;
    expect(loopGroupsOf(reduction('Sum', both))).toBe(1);
    expect(loopGroupsOf(reduction('Sum', ops.dot(ops.div(x, ops.sum(y)), y)))).toBe(2);
  });

  test('few rows leave no core idle', () => {
    const few = { rowsI: 5, rowsJ: 100_000 };
    const many = { ...CPU, cores: 32 };
    expect(plan(reduction('Sum', gaussian), many, few)).toMatchObject({ splits: 64 });
    const columns = plan(reduction('Sum', ops.mul(gaussian, vj(2, 400))), many, few);
    expect(columns).toMatchObject({ splits: 1, blocks: 4 });
    const ranged = plan(reduction('Sum', gaussian), many, { ...few, ranges: true });
    expect(ranged).toMatchObject({ splits: 1, ranges: true });
  });

  test('rows by index are tables, and read as rows too where they are', () => {
    const far = (own: VectorExpr) => ops.sqDist(own, ops.gather(vi(0, 200), ops.sub(indexI, 1)));
    const table = (own: VectorExpr) => plan(reduction('Sum', far(own))).inputs[0]?.table;
    expect([table(vi(0, 200)), table(vj(1, 200))]).toEqual(['also', 'only']);
    const params = emitMapReduce(plan(reduction('Sum', far(vj(1, 200))))).steps[0]?.kernel.params;
    expect(params?.map(({ name }) => name)).toContain('rows0');
  });

  test('the number of a row by index is found once for a pair, however often the row is read', () => {
    const row = ops.gather(pm(1, 200), ops.argMin(ops.sub(vi(0, 200), vj(2, 200))));
    const both = ops.mul(ops.sqDist(vi(0, 200), row), row);
    for (const limits of [CPU, H200]) {
      const one = plan(reduction('Sum', both), limits);
      if (!('form' in one)) throw new TypeError('no loops');
      expect(one.formula.gathers).toHaveLength(1);
      // the sum, and the row's number for the columns
      expect(one.formula.pair).toBe(2);
    }
  });

  test('float64 sums of float32 data need room for two words', () => {
    const inFloat64 = { accumulate: 'float64', sumScheme: 'direct' } as const;
    const sizes = { rowsI: 8, rowsJ: 100_000, batch: 1 };
    const bytes = (more: Partial<MapReduceProblem>, limits: DeviceLimits): number =>
      emitMapReduce(plan(reduction('Sum', gaussian), limits, { ...sizes, ...more })).workspaceBytes(
        sizes,
      );
    for (const limits of [{ ...CPU, cores: 16 }, H200]) {
      expect(bytes(inFloat64, limits)).toBe(2 * bytes({}, limits));
      expect(bytes({}, limits)).toBeGreaterThan(0);
    }
    const scratch = (more: Partial<MapReduceProblem>): number => {
      const { kernel } =
        emitMapReduce(plan(reduction('Sum', vj(0, 200)), CPU, more)).steps[0] ?? {};
      if (kernel?.dialect !== 'cpu') throw new TypeError('no host kernel');
      return kernel.geometry({ ...sizes, rowsJ: 9 }).scratchBytes;
    };
    // a running result and a block of as many: 1 + 1, and 2 + 1
    const blocked = scratch({ accumulate: 'float64' });
    expect(blocked / scratch({})).toBe(3 / 2);
  });

  test('what has no text is named', () => {
    expect(() => plan(reduction('Max', distance), CPU, { sumScheme: 'kahan' })).toThrow(
      /Max takes neither/,
    );
    expect(() => plan(reduction('Sum', ops.sub(vi(0, 200), vj(0, 200))))).toThrow(
      /input 0 stands in the formula with two/,
    );
  });
});
