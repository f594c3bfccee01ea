import { describe, expect, it } from 'vitest';
import { classify } from './classification.js';
import { DIGIT_PIXELS, loadDigits } from './load-digits.js';
import { nearestNeighbours, vote } from './nearest-neighbours.js';
import { splitDigits } from './split-digits.js';
import { Random } from '../random.js';

describe('loadDigits and splitDigits', () => {
  const all = loadDigits();
  const { train, test } = splitDigits(all);

  it('load 10,000 real images with values in [0, 1]', () => {
    expect(all.count).toBe(10_000);
    expect(all.pixels.length).toBe(all.count * DIGIT_PIXELS);
    expect(all.pixels.every((value) => value >= 0 && value <= 1)).toBe(true);
    for (let image = 0; image < all.count; image += 97) {
      const ink = all.pixels
        .subarray(image * DIGIT_PIXELS, (image + 1) * DIGIT_PIXELS)
        .reduce((sum, value) => sum + value, 0);
      expect(ink).toBeGreaterThan(10);
    }
  });

  it('hold out a fifth with every label in its share, the same one every time', () => {
    expect(train.count + test.count).toBe(all.count);
    expect(Math.abs(test.count - all.count / 5)).toBeLessThanOrEqual(10);
    for (let label = 0; label < 10; label++) {
      const [whole, held] = [all, test].map(
        ({ labels }) => labels.filter((l) => l === label).length,
      );
      expect(held).toBe(Math.ceil((whole ?? 0) / 5));
    }
    expect(splitDigits(all).test.labels).toEqual(test.labels);
    expect([...test.labels.subarray(0, 12)]).toMatchInlineSnapshot(`
      [
        1,
        4,
        7,
        3,
        6,
        9,
        5,
        1,
        2,
        3,
        5,
        0,
      ]
    `);
  });

  it('no image is in both parts', () => {
    const keys = (set: typeof train): string[] =>
      Array.from({ length: set.count }, (_, i) =>
        Buffer.from(set.pixels.slice(i * DIGIT_PIXELS, (i + 1) * DIGIT_PIXELS).buffer).toString(
          'latin1',
        ),
      );
    const known = new Set(keys(train));
    const both = keys(test).filter((key) => known.has(key)).length;
    const copies = all.count - new Set(keys(all)).size;
    expect(both).toBeLessThanOrEqual(copies);
  });
});

describe('nearestNeighbours', () => {
  it('agrees with sorting, ties by index, on random rows with duplicates', () => {
    const random = new Random(1);
    for (let round = 0; round < 50; round++) {
      const [rows, columns, k] = [3, 1 + random.integer(40), 1 + random.integer(8)];
      const distances = Float32Array.from({ length: rows * columns }, () => random.integer(9));
      const found = nearestNeighbours(distances, rows, columns, k);
      for (let row = 0; row < rows; row++) {
        const sorted = Array.from({ length: columns }, (_, i) => i).sort(
          (a, b) =>
            (distances[row * columns + a] ?? 0) - (distances[row * columns + b] ?? 0) || a - b,
        );
        const kept = Math.min(k, columns);
        expect([...found.indices.subarray(row * kept, (row + 1) * kept)]).toEqual(
          sorted.slice(0, kept),
        );
      }
    }
  });

  it('puts NaN and infinity last', () => {
    const found = nearestNeighbours(Float32Array.of(NaN, 2, Infinity, 1), 1, 4, 2);
    expect([...found.indices]).toEqual([3, 1]);
  });
});

describe('vote', () => {
  it('takes the majority', () => {
    expect(vote([3, 5, 5, 3, 5], [1, 2, 3, 4, 5], 10)).toBe(5);
  });
  it('breaks a tie by the nearer sum, then by the smaller label', () => {
    expect(vote([3, 5, 5, 3, 7], [1, 2, 3, 5, 0], 10)).toBe(5);
    expect(vote([5, 3, 3, 5], [1, 2, 1, 2], 10)).toBe(3);
  });
});

describe('classify', () => {
  it('counts hits and mistakes by true label and answer', () => {
    // Two test images; the three nearest of the second carry the wrong label.
    const distances = Float32Array.of(1, 2, 3, 9, 9, 9, /**/ 9, 9, 9, 1, 2, 3);
    const result = classify(distances, Uint8Array.of(1, 1, 1, 2, 2, 2), Uint8Array.of(1, 1), 3);
    expect([...result.predicted]).toEqual([1, 2]);
    expect(result).toMatchObject({ correct: 1, accuracy: 0.5 });
    expect(result.confusion[1]?.slice(0, 3)).toEqual([0, 1, 1]);
    expect([...result.nearest]).toEqual([0, 3]);
    expect([...result.votes]).toEqual([1, 1, 1, 2, 2, 2]);
  });
});
