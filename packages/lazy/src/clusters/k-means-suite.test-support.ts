import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { kMeans } from '../index.js';
import { asList, cloud } from './clusters-suite.test-support.js';

type Points = readonly (readonly number[])[];

const squared = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, one, axis) => sum + (one - (b[axis] ?? NaN)) ** 2, 0);

/** The first of the nearest centroids, and how far it is, by loops. */
function nearest(point: readonly number[], centroids: Points): [label: number, distance: number] {
  const all = centroids.map((one) => squared(point, one));
  const least = Math.min(...all);
  return [all.indexOf(least), least];
}

/** Lloyd's algorithm by loops, until nothing moves. Clusters do not become empty. */
function byLoops(
  points: Points,
  first: Points,
): { labels: number[]; centroids: Points; moves: number } {
  let centroids = first;
  for (let moves = 1; ; moves++) {
    const labels = points.map((one) => nearest(one, centroids)[0]);
    const next = centroids.map((_, label) => {
      const own = points.filter((__, at) => labels[at] === label);
      if (own.length === 0) throw new RangeError('an empty cluster');
      return (first[0] ?? []).map(
        (__, axis) => own.reduce((sum, one) => sum + (one[axis] ?? NaN), 0) / own.length,
      );
    });
    if (next.every((one, label) => squared(one, centroids[label] ?? []) < 1e-24)) {
      return { labels, centroids: next, moves };
    }
    centroids = next;
  }
}

/** Lloyd's algorithm, and what it does where clusters are empty or rows are equal. */
export function describeKMeans(device: () => Device): void {
  const on = async (
    points: Points,
    dtype: 'float32' | 'float64' = 'float64',
  ): Promise<Tensor<'float64'>> =>
    (await tensor(Float64Array.from(points.flat()), {
      shape: [points.length, points[0]?.length ?? 1],
      dtype,
      device: device(),
    })) as Tensor<'float64'>;

  describe('kMeans', () => {
    it('is what loops over all pairs give', async () => {
      const points = cloud(4, 300, 3);
      const first = points.slice(0, 6);
      const wanted = byLoops(points, first);
      const found = await kMeans(await on(points), 6, {
        centroids: await on(first),
        tolerance: 1e-24,
      });
      expect(await asList(found.labels)).toEqual(wanted.labels);
      const centroids = await asList(found.centroids);
      for (const [at, one] of wanted.centroids.flat().entries())
        expect(centroids[at]).toBeCloseTo(one, 12);
      expect(found.converged).toBe(true);
      expect(found.iterations).toBe(wanted.moves);
      const inertia = points.reduce((sum, one) => sum + nearest(one, wanted.centroids)[1], 0);
      expect(found.inertia).toBeCloseTo(inertia, 10);
    });

    it('draws rows with a key, the same with the same one', async () => {
      const points = cloud(9, 200, 2);
      const x = await on(points, 'float32');
      const all = await Promise.all(
        [1, 1, 2].map((seed) => kMeans(x, 5, { key: random.key(seed), maxIterations: 0 })),
      );
      const [a, b, c] = await Promise.all(all.map(({ centroids }) => centroids.toNested()));
      expect(b).toEqual(a);
      expect(c).not.toEqual(a);
      // no two of them are one row, and each is a row
      const rows = points.map((one) => one.join());
      const drawn = (a as unknown as Points).map((one) => one.join());
      expect(new Set(drawn).size).toBe(5);
      for (const one of drawn) expect(rows).toContain(one);
      expect(all[0]?.converged).toBe(false);
    });

    it('draws far rows: one of each of well separated groups', async () => {
      const points = [0, 1000, 2000, 3000].flatMap((at) =>
        cloud(at + 1, 25, 2).map(([a = 0, b = 0]) => [at + a, b]),
      );
      for (const seed of [1, 2, 3, 4, 5]) {
        const { inertia } = await kMeans(await on(points), 4, { key: random.key(seed) });
        expect(inertia).toBeLessThan(25 * 4 * 0.5);
      }
    });

    it('gives an empty cluster the row that is farthest from its centroid', async () => {
      const points = [[0], [1], [2], [100], [50]];
      const first = [[1], [1000], [2000]];
      const { centroids, labels } = await kMeans(await on(points), 3, {
        centroids: await on(first),
        maxIterations: 1,
      });
      // all rows are of the first, whose mean is 30.6; 100 and 50 are the farthest from 1
      expect(await asList(centroids)).toEqual([30.6, 100, 50]);
      expect(await asList(labels)).toEqual([0, 0, 0, 1, 2]);
      const end = await kMeans(await on(points), 3, { centroids: await on(first) });
      expect(end.inertia).toBe(2);
      expect(end.converged).toBe(true);
    });

    it('takes as many clusters as rows, and equal rows', async () => {
      const points = cloud(2, 7, 2);
      const all = await kMeans(await on(points), 7, { key: random.key(3) });
      expect(all.inertia).toBe(0);
      expect(new Set(await asList(all.labels)).size).toBe(7);
      const equal = await kMeans(
        await on([
          [4, 4],
          [4, 4],
          [4, 4],
        ]),
        2,
        { key: random.key(3) },
      );
      expect(equal.inertia).toBe(0);
      expect(equal.converged).toBe(true);
      expect(await equal.centroids.toNested()).toEqual([
        [4, 4],
        [4, 4],
      ]);
      expect(await asList(equal.labels)).toEqual([0, 0, 0]);
    });

    it('refuses what cannot be clustered', async () => {
      const x = await on(cloud(2, 4, 2));
      const key = random.key(1);
      await expect(kMeans(x, 5, { key })).rejects.toThrow(/5 clusters of 4 rows/);
      await expect(kMeans(x, 0, { key })).rejects.toThrow(/clusters is 0/);
      await expect(kMeans(x, 2)).rejects.toThrow(/neither a key/);
      await expect(kMeans(x, 2, { key, tolerance: -1 })).rejects.toThrow(/tolerance is -1/);
      await expect(kMeans(x, 2, { centroids: await on([[1, 2]]) })).rejects.toThrow(
        /must be \[2, 2\]/,
      );
      const signal = AbortSignal.abort(new Error('enough'));
      await expect(kMeans(x, 2, { key, signal })).rejects.toThrow('enough');
    });
  });
}
