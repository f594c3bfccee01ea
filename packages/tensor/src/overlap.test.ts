import { describe, expect, it } from 'vitest';
import type { Layout } from './layout.js';
import { overlapsItself, viewsOverlap } from './overlap.js';

const storage = {};
const view = ({ shape, strides, offset }: Layout) => ({
  shape,
  strides,
  offset,
  dtype: 'float32' as const,
  storage,
  label: 'a view',
});

/** All elements that a view reaches. */
function elements({ shape, strides, offset }: Layout): Set<number> {
  let found = [offset];
  for (const [axis, extent] of shape.entries()) {
    const steps = Array.from({ length: extent }, (_, k) => k * (strides[axis] ?? 0));
    found = found.flatMap((at) => steps.map((step) => at + step));
  }
  return new Set(found);
}

/** Blocks of rows and columns of a matrix of some width, split into (counts, sizes), as optimisers cut them. */
function blocks(
  width: number,
  [row, column]: [number, number],
  counts: number[],
  sizes: number[],
): Layout {
  const [m = 1, n = 1] = sizes;
  return {
    shape: [...counts, ...sizes],
    strides: [m * width, n, width, 1],
    offset: row * width + column,
  };
}

describe('views of one storage', () => {
  it('are apart where blocks of blocks lie beside each other', () => {
    // 5 x 7 in blocks of 2 x 2, their rests at the right, below, and in the corner
    const parts = [
      blocks(7, [0, 0], [2, 3], [2, 2]),
      blocks(7, [0, 6], [2, 1], [2, 1]),
      blocks(7, [4, 0], [1, 3], [1, 2]),
      blocks(7, [4, 6], [1, 1], [1, 1]),
    ].map(view);
    for (const [i, a] of parts.entries()) {
      for (const [j, b] of parts.entries())
        expect([i, j, viewsOverlap(a, b)]).toEqual([i, j, i === j]);
    }
  });

  it('are never called apart where they share an element', () => {
    let seed = 1;
    const draw = (most: number): number => {
      seed = (seed * 48271) % 2147483647;
      return seed % (most + 1);
    };
    let [apart, shared] = [0, 0];
    for (let round = 0; round < 4000; round++) {
      const rank = 1 + draw(3);
      const random = (): Layout => ({
        shape: Array.from({ length: rank }, () => 1 + draw(3)),
        strides: Array.from({ length: rank }, () => draw(12) - (draw(5) === 0 ? 6 : 0)),
        offset: 60 + draw(20),
      });
      const [a, b] = [random(), random()];
      const others = elements(b);
      const isShared = [...elements(a)].some((at) => others.has(at));
      const said = viewsOverlap(view(a), view(b));
      if (isShared) {
        shared++;
        expect([a, b, said]).toEqual([a, b, true]);
      } else if (!said) apart++;
      const size = a.shape.reduce((product, extent) => product * extent, 1);
      if (elements(a).size < size) expect([a, overlapsItself(a)]).toEqual([a, true]);
    }
    expect(shared).toBeGreaterThan(500);
    expect(apart).toBeGreaterThan(500);
  });
});
