import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leastBytes, planBlocks, tilesOf, type BlockProblem, type Range } from './plan-blocks.js';

const extent = (max: number) =>
  fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max }));

const problems = (max: number, maxBatch: number, bytes: number): fc.Arbitrary<BlockProblem> =>
  fc.record({
    m: extent(max),
    n: extent(max),
    k: extent(max),
    batch: fc.integer({ min: 1, max: maxBatch }),
    elementBytes: fc.constantFrom(4, 8),
    maxBytes: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: bytes })),
    parts: fc.boolean(),
    leastK: fc.constantFrom(1, 256, 4096),
  });

const up = (x: number): number => Math.ceil(x / 4) * 4;

/** What the device holds: the results, two blocks of each factor and, of split ones, one block of both parts. */
function bytesNeeded(
  problem: BlockProblem,
  { m, n, k, batch, results, workspaceBytes }: Plan,
): number {
  const entry = results * up(m) * up(n) + (problem.parts ? 4 : 2) * (up(m) * up(k) + up(k) * up(n));
  return problem.elementBytes * batch * entry + workspaceBytes;
}
type Plan = NonNullable<ReturnType<typeof planBlocks>>;

describe('the blocks of a product', () => {
  it('fit the bytes allowed and are never empty, or are refused below the least', () => {
    let planned = 0;
    fc.assert(
      fc.property(problems(2 ** 31 - 1, 2 ** 20, 2 ** 40), (problem) => {
        const plan = planBlocks(problem);
        expect(plan === undefined).toBe(problem.maxBytes < leastBytes(problem));
        if (plan === undefined) return;
        planned++;
        expect(plan.bytes).toBe(bytesNeeded(problem, plan));
        expect(plan.bytes).toBeLessThanOrEqual(problem.maxBytes);
        for (const name of ['m', 'n', 'k', 'batch'] as const) {
          expect(Number.isInteger(plan[name])).toBe(true);
          expect(plan[name]).toBeGreaterThanOrEqual(1);
          expect(plan[name]).toBeLessThanOrEqual(problem[name]);
        }
      }),
      { numRuns: 5000 },
    );
    expect(planned).toBeGreaterThan(3000);
  });

  it('cover every product of every element exactly once', () => {
    let several = 0;
    fc.assert(
      fc.property(problems(14, 4, 40_000), (problem) => {
        const plan = planBlocks(problem);
        if (plan === undefined) return;
        const { m, n, k, batch } = problem;
        const seen = new Uint8Array(batch * m * n * k);
        const each = ([first, count]: Range): number[] =>
          Array.from({ length: count }, (_, i) => first + i);
        let tiles = 0;
        for (const tile of tilesOf(problem, plan)) {
          tiles++;
          expect(tile.rows[1] * tile.columns[1] * tile.entries[1]).toBeGreaterThan(0);
          expect(tile.rows[1]).toBeLessThanOrEqual(plan.m);
          expect(tile.columns[1]).toBeLessThanOrEqual(plan.n);
          expect(tile.entries[1]).toBeLessThanOrEqual(plan.batch);
          for (const step of tile.steps) {
            expect(step[1]).toBeGreaterThan(0);
            expect(step[1]).toBeLessThanOrEqual(plan.k);
            for (const z of each(tile.entries))
              for (const i of each(tile.rows))
                for (const j of each(tile.columns))
                  for (const l of each(step)) seen[((z * m + i) * n + j) * k + l]!++;
          }
        }
        expect(seen.every((count) => count === 1)).toBe(true);
        expect(plan.results).toBe(tiles === 1 ? 1 : 2);
        if (tiles > 1 || plan.k < k) several++;
      }),
      { numRuns: 1000 },
    );
    expect(several).toBeGreaterThan(300);
  });

  const float32 = { elementBytes: 4, parts: false, leastK: 1, batch: 1 } as const;

  it('of a product that fits are one result, with k in blocks that overlap', () => {
    const plan = planBlocks({ ...float32, m: 8000, n: 8000, k: 8000, maxBytes: 2 ** 33 });
    expect(plan).toMatchObject({ m: 8000, n: 8000, k: 2048, results: 1 });
  });

  it('of a product that does not fit are large squares of the result', () => {
    const plan = planBlocks({ ...float32, m: 30_000, n: 30_000, k: 30_000, maxBytes: 2 ** 33 })!;
    expect(plan).toMatchObject({ m: 15_000, n: 15_000, k: 2048, results: 2 });
    const small = planBlocks({ ...float32, m: 30_000, n: 30_000, k: 30_000, maxBytes: 2 ** 28 })!;
    expect(small.m / small.n).toBeGreaterThan(0.8);
    expect(small.m / small.n).toBeLessThan(1.25);
    expect(small.k).toBe(2048);
    expect(small.bytes).toBeGreaterThan(0.75 * 2 ** 28);
  });

  it('use the room that a short side leaves', () => {
    const plan = planBlocks({ ...float32, m: 100, n: 2 ** 20, k: 100, maxBytes: 2 ** 23 })!;
    expect(plan.m).toBe(100);
    expect(plan.n).toBeGreaterThan(2000);
  });

  it('take the entries of a batch together where they are small', () => {
    const plan = planBlocks({ ...float32, m: 10, n: 10, k: 10, batch: 5000, maxBytes: 2 ** 30 });
    expect(plan).toMatchObject({ m: 10, n: 10, k: 10, batch: 5000, results: 1 });
  });

  it('keep the steps of k that were asked for, where there is room', () => {
    const problem = { ...float32, m: 100, n: 100, k: 2 ** 24, parts: true, leastK: 3072 };
    expect(planBlocks({ ...problem, maxBytes: 2 ** 30 })?.k).toBe(3072);
  });
});
