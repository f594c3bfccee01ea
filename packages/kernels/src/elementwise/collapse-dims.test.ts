import fc from 'fast-check';
import { expect, test } from 'vitest';
import { collapseDims as collapseOperands } from './collapse-dims.js';

/** A source and a destination. */
function collapseDims(shape: readonly number[], src: readonly number[], dst: readonly number[]) {
  const { dims, offsets } = collapseOperands(shape, [dst, src], ['test', 'Use fewer']);
  return {
    dims: dims.map(({ extent, strides: [to = 0, from = 0] }) => ({ extent, src: from, dst: to })),
    srcOffset: offsets[1],
    dstOffset: offsets[0],
  };
}

/** All (source, destination) pairs of a strided pair, as text, sorted. */
function pairs(
  dims: readonly { extent: number; src: number; dst: number }[],
  start: { src: number; dst: number },
): string[] {
  let found = [start];
  for (const { extent, src, dst } of dims) {
    found = found.flatMap((p) =>
      Array.from({ length: extent }, (_, i) => ({ src: p.src + i * src, dst: p.dst + i * dst })),
    );
  }
  return found.map(({ src, dst }) => `${src} ${dst}`).sort();
}

const dim = fc.record({
  extent: fc.integer({ min: 1, max: 4 }),
  src: fc.integer({ min: -12, max: 12 }),
  dst: fc.integer({ min: -12, max: 12 }),
});

/** Dimensions in a chain, where each continues the next on both sides, some of them broken apart by a gap. */
const chain = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean()), { minLength: 2, maxLength: 5 })
  .map((parts) => {
    let src = 1;
    let dst = 1;
    return parts
      .map(([extent, gap]) => {
        const made = { extent, src, dst };
        src *= extent;
        dst = dst * extent + (gap ? 1 : 0);
        return made;
      })
      .reverse();
  });

test('visits the same pairs with fewer dimensions', () => {
  let merged = 0;
  let turned = 0;
  fc.assert(
    fc.property(fc.oneof(fc.array(dim, { maxLength: 5 }), chain), (dims) => {
      const collapsed = collapseDims(
        dims.map((d) => d.extent),
        dims.map((d) => d.src),
        dims.map((d) => d.dst),
      );
      const start = { src: collapsed.srcOffset ?? 0, dst: collapsed.dstOffset ?? 0 };
      expect(pairs(collapsed.dims, start)).toEqual(pairs(dims, { src: 0, dst: 0 }));
      expect(collapsed.dims.length).toBeLessThanOrEqual(Math.max(1, dims.length));
      expect(collapsed.dims.every((d) => d.dst >= 0)).toBe(true);
      if (collapsed.dims.length < dims.filter((d) => d.extent > 1).length) merged++;
      if (collapsed.dstOffset !== 0) turned++;
    }),
    { numRuns: 1000, seed: 7 },
  );
  process.stdout.write(`collapseDims: merged ${merged}, turned round ${turned}\n`);
  expect(Math.min(merged, turned)).toBeGreaterThan(0);
});

test('merges contiguous and broadcast dimensions', () => {
  expect(collapseDims([2, 3, 4], [12, 4, 1], [12, 4, 1]).dims).toEqual([
    { extent: 24, src: 1, dst: 1 },
  ]);
  expect(collapseDims([5, 6], [0, 0], [6, 1]).dims).toEqual([{ extent: 30, src: 0, dst: 1 }]);
  expect(collapseDims([5, 6], [1, 5], [6, 1]).dims).toHaveLength(2);
  expect(collapseDims([], [], []).dims).toEqual([{ extent: 1, src: 1, dst: 1 }]);
  expect(collapseDims([4], [-1], [-1])).toEqual({
    dims: [{ extent: 4, src: 1, dst: 1 }],
    srcOffset: -3,
    dstOffset: -3,
  });
});
