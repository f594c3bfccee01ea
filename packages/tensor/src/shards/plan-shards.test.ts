import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceOf, leastBytes, planShards, type Rows, type ShardProblem } from './plan-shards.js';

const rows = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 20_000 }));
const bytes = (max: number) => fc.oneof(fc.constant(0), fc.integer({ min: 1, max }));

const problems = fc.record({
  rowsKept: rows,
  rowsReduced: rows,
  leastReduced: fc.constantFrom(1, 1, 3, 50),
  bytesFixed: bytes(1000),
  bytesKept: bytes(100),
  bytesReduced: bytes(100),
  bytesPair: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 8 })),
  bytesResults: bytes(100),
});

const most = (blocks: readonly Rows[]): number =>
  blocks.reduce((largest, [, count]) => Math.max(largest, count), 0);

/** What a device holds at most, counted by its definition. */
const held = (of: Omit<ShardProblem, 'maxBytes'>, kept: number, reduced: number): number =>
  of.bytesFixed +
  kept * (2 * of.bytesKept + of.bytesResults) +
  2 * reduced * of.bytesReduced +
  2 * kept * reduced * of.bytesPair;

/** Whether blocks are all rows, one after the other, and each has at least so many. */
function expectWhole(blocks: readonly Rows[], all: number, least: number): void {
  let next = 0;
  let fewest = Infinity;
  for (const [first, count] of blocks) {
    if (first !== next) expect(first).toBe(next);
    next += count;
    fewest = Math.min(fewest, count);
  }
  expect(next).toBe(all);
  if (all > 0) expect(fewest).toBeGreaterThanOrEqual(Math.min(least, all));
}

describe('the shards of a reduction', () => {
  it('are all rows, once, in blocks that fit and are long enough; less memory than the least is refused', () => {
    let cut = 0;
    fc.assert(
      fc.property(problems, fc.double({ min: 0.2, max: 60, noNaN: true }), (sizes, times) => {
        const least = leastBytes(sizes);
        const maxBytes = Math.ceil(least * times);
        const plan = planShards({ ...sizes, maxBytes });
        expect(plan === undefined).toBe(maxBytes < least);
        // what can hold no more than the least is cut to that
        if (plan === undefined) return;
        expectWhole(plan.kept, sizes.rowsKept, 1);
        expectWhole(plan.reduced, sizes.rowsReduced, sizes.leastReduced);
        expect(held(sizes, most(plan.kept), most(plan.reduced))).toBeLessThanOrEqual(maxBytes);
        expectWhole(plan.runs, plan.reduced.length, 1);
        if (plan.reduced.length > 1 && plan.kept.length > 1) cut++;
      }),
      { numRuns: 1000 },
    );
    expect(cut).toBeGreaterThan(50);
  });

  it('are eight where there are rows enough, of the kept side first', () => {
    const plan = (rowsKept: number, rowsReduced: number) => {
      const none = { bytesFixed: 0, bytesKept: 8, bytesReduced: 8, bytesPair: 0, bytesResults: 8 };
      const sizes = { ...none, leastReduced: 1, maxBytes: 2 ** 34 };
      const { kept, reduced, runs } = planShards({ ...sizes, rowsKept, rowsReduced })!;
      return [kept.length, reduced.length, runs.length];
    };
    expect(plan(1_000_000, 1_000_000)).toEqual([8, 1, 1]);
    expect(plan(1, 1_000_000)).toEqual([1, 8, 8]);
    expect(plan(2500, 1_000_000)).toEqual([2, 4, 4]);
    expect(plan(100, 100)).toEqual([1, 1, 1]);
    expect(plan(0, 5)).toEqual([1, 1, 1]);
  });

  it('do not cut the reduced side for the sake of a long kept side, nor the other way round', () => {
    const of = { bytesFixed: 0, bytesKept: 12, bytesReduced: 12, bytesPair: 0, bytesResults: 28 };
    const sizes = { ...of, leastReduced: 1, maxBytes: 2 ** 20 };
    const long = planShards({ ...sizes, rowsKept: 10_000_000, rowsReduced: 4000 })!;
    expect(long.reduced).toHaveLength(1);
    // half of the memory is room for 10082 rows
    const wide = planShards({ ...sizes, rowsKept: 9000, rowsReduced: 10_000_000 })!;
    expect(wide.kept).toHaveLength(8);
    expect(most(wide.reduced)).toBeGreaterThan(20_000);
  });

  it('have rows of the reduced side that 31 bits count, however much memory there is', () => {
    const none = { bytesFixed: 0, bytesKept: 0, bytesReduced: 0, bytesPair: 0, bytesResults: 8 };
    const sizes = { ...none, leastReduced: 5, maxBytes: 2 ** 50 };
    const { kept, reduced, runs } = planShards({
      ...sizes,
      rowsKept: 10_000,
      rowsReduced: 2 ** 32 + 3,
    })!;
    expect(most(reduced)).toBeLessThanOrEqual(2 ** 30);
    expectWhole(reduced, 2 ** 32 + 3, 5);
    expect([kept.length, runs.length]).toEqual([8, 1]);
    const few = { ...sizes, rowsKept: 10_000, rowsReduced: 2 ** 25 };
    expect(most(planShards({ ...few, mostReduced: 2 ** 24 })!.reduced)).toBe(2 ** 24);
  });

  it('of values of pairs hold no more than may travel at a time, and are not single rows for it', () => {
    let cut = 0;
    fc.assert(
      fc.property(problems, fc.integer({ min: 64, max: 2 ** 16 }), (sizes, maxPairBytes) => {
        if (sizes.bytesPair === 0) return;
        const plan = planShards({ ...sizes, maxPairBytes, leastReduced: 1, maxBytes: 2 ** 40 })!;
        const [kept, reduced] = [most(plan.kept), most(plan.reduced)];
        expectWhole(plan.kept, sizes.rowsKept, 1);
        expectWhole(plan.reduced, sizes.rowsReduced, 1);
        const pairs = kept * reduced * sizes.bytesPair;
        if (kept > 1 || reduced > 1) expect(pairs).toBeLessThanOrEqual(maxPairBytes);
        if (sizes.rowsKept > 1 && kept === 1)
          expect(2 * sizes.bytesPair).toBeGreaterThan(maxPairBytes / 1024);
        if (plan.reduced.length > 1 && plan.kept.length > 1) cut++;
      }),
      { numRuns: 1000 },
    );
    expect(cut).toBeGreaterThan(10);
  });

  it('go to devices in order, as evenly as can be', () => {
    const dealt = (shards: number, devices: number): number[] =>
      Array.from({ length: shards }, (_, shard) => deviceOf(shard, shards, devices));
    expect(dealt(8, 2)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    expect(dealt(8, 3)).toEqual([0, 0, 0, 1, 1, 1, 2, 2]);
    expect(dealt(2, 5)).toEqual([0, 2]);
    expect(dealt(1, 2)).toEqual([0]);
  });
});
