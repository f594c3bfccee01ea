import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { singleBatch } from './single-batch.js';
import { chunkOf, planSplit } from './tf32x3-plan.js';

describe('the chunks of a split product', () => {
  it('are 256 steps up to k = 2^17, then about sqrt(k / 2)', () => {
    expect([1, 256, 1024, 2 ** 17].map(chunkOf)).toEqual([256, 256, 256, 256]);
    expect(chunkOf(2 ** 17 + 2)).toBe(512);
    expect(chunkOf(2 ** 31 - 1)).toBe(2 ** 15);
  });

  it('divide blocks that fit, or are the blocks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.integer({ min: 8, max: 2 ** 36 }),
        fc.integer({ min: 0, max: 2 ** 40 }),
        (k, bytesPerStep, budget) => {
          const { chunk, block } = planSplit(k, bytesPerStep, budget);
          expect(block).toBeGreaterThan(0);
          expect(block === k || block % chunk === 0).toBe(true);
          expect(block).toBeLessThanOrEqual(Math.min(k, 512 * chunk));
          expect(block * bytesPerStep <= budget || block <= chunk).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('matrices that differ', () => {
  it.each([
    [[], [], { count: 1, stride: 0, steps: [] }],
    [[4], [6], { count: 4, stride: 6, steps: [1] }],
    [[4], [0], { count: 1, stride: 0, steps: [0] }],
    [[2, 3], [18, 6], { count: 6, stride: 6, steps: [3, 1] }],
    [[2, 5, 3], [18, 0, 6], { count: 6, stride: 6, steps: [3, 0, 1] }],
    [[1, 3], [77, -6], { count: 3, stride: -6, steps: [0, 1] }],
    [[2, 3], [6, 12], undefined],
    [[2, 3], [20, 6], undefined],
  ])('of a batch %j with strides %j', (shape, strides, expected) => {
    expect(singleBatch(shape, strides)).toEqual(expected);
  });
});
