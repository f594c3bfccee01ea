import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { uniform } from '../reference.test-support.js';
import {
  clusterCentroids,
  clusterRanges,
  clusterRangesCentroids,
  fromMatrix,
  gridCluster,
  kMeans,
  lazyI,
  lazyJ,
  rangesFromMatrix,
  sortClusters,
  swapAxes,
  truncatedRanges,
  type PlacedRanges,
  type Ranges,
  type RowRange,
} from '../index.js';

/** Rows of coordinates that float32 has too. */
export function cloud(seed: number, rows: number, dim: number, scale = 1): number[][] {
  const next = uniform(seed);
  return Array.from({ length: rows }, () =>
    Array.from({ length: dim }, () => Math.fround(scale * (next() - 0.5))),
  );
}

const disposables = (of: object): readonly Tensor[] => Object.values(of) as Tensor[];

export const asList = async (x: Tensor): Promise<number[]> =>
  Array.from(await x.toTypedArray(), Number);

/** The cells of points in the order of their coordinates, by comparing lists. */
function cellsByLists(points: readonly (readonly number[])[], size: readonly number[]): number[] {
  const cells = points.map((point) =>
    point.map((one, axis) => Math.floor(one / (size[axis] ?? 1))),
  );
  const compare = (a: readonly number[], b: readonly number[]): number =>
    a.map((one, axis) => one - (b[axis] ?? 0)).find((difference) => difference !== 0) ?? 0;
  const sorted = cells.toSorted(compare);
  const different = sorted.filter(
    (cell, at) => compare(cell, sorted[at - 1] ?? []) !== 0 || at === 0,
  );
  return cells.map((cell) => different.findIndex((one) => compare(one, cell) === 0));
}

/** Ranges of the host, to compare with. */
export async function listed(ranges: PlacedRanges): Promise<Ranges> {
  const pairs = async (table: Tensor<'int64'>): Promise<RowRange[]> => {
    const words = await asList(table);
    return Array.from({ length: words.length / 2 }, (_, at): RowRange => [
      words[2 * at] ?? NaN,
      words[2 * at + 1] ?? NaN,
    ]);
  };
  return {
    ...ranges,
    redrangesJ: await pairs(ranges.redrangesJ),
    redrangesI: await pairs(ranges.redrangesI),
  };
}

/** KeOps' cluster functions. */
export function describeClusters(device: () => Device): void {
  const on = async <D extends 'float32' | 'float64'>(
    points: readonly (readonly number[])[],
    dtype: D,
  ): Promise<Tensor<D>> =>
    tensor(Float64Array.from(points.flat()), {
      shape: [points.length, points[0]?.length ?? 1],
      dtype,
      device: device(),
    });
  const labelled = (labels: readonly number[]): PromiseLike<Tensor<'int32'>> =>
    tensor(Int32Array.from(labels), { device: device() });

  describe('gridCluster', () => {
    it.each([
      [1, [0.3]],
      [2, [0.25, 0.1]],
      [3, [0.4, 0.4, 0.4]],
      [5, [0.9, 0.5, 2, 0.6, 0.7]],
    ])('numbers the cells of %i axes in the order of their coordinates', async (dim, size) => {
      const points = cloud(dim, 90, dim, 3);
      for (const dtype of ['float32', 'float64'] as const) {
        const labels = await gridCluster(await on(points, dtype), size);
        expect(labels.dtype).toBe('int32');
        expect(await asList(labels)).toEqual(cellsByLists(points, size));
      }
    });

    it('tells cells apart however many there are', async () => {
      // 2^30 cells along each of three axes: more than float64 counts
      const points = cloud(8, 60, 3, 2 ** 30);
      const [a = 0, b = 0, c = 0] = points[3] as number[];
      points.push([a, b, c], [a, b, c + 1]);
      const labels = await asList(await gridCluster(await on(points, 'float64'), 1));
      expect(labels).toEqual(cellsByLists(points, [1, 1, 1]));
      expect(labels[60]).toBe(labels[3]);
    });

    it('takes no points, equal points and one width for all axes', async () => {
      const none = await gridCluster(
        await tensor(new Float32Array(0), { shape: [0, 2], device: device() }),
        1,
      );
      expect(none.shape).toEqual([0]);
      const equal = await gridCluster(
        await on(
          [
            [5, 5],
            [5, 5],
            [5, 5],
          ],
          'float32',
        ),
        0.1,
      );
      expect(await asList(equal)).toEqual([0, 0, 0]);
    });

    it('refuses widths and points that have no cells', async () => {
      const x = await on([[1, 2]], 'float32');
      await expect(gridCluster(x, 0)).rejects.toThrow(/size is 0/);
      await expect(gridCluster(x, [1])).rejects.toThrow(/one for each of 2 axes/);
      await expect(gridCluster(await on([[1, NaN]], 'float32'), 1)).rejects.toThrow(/not finite/);
      await expect(gridCluster(await on([[0], [1e300]], 'float64'), 1)).rejects.toMatchObject({
        code: 'LIMIT',
      });
      await expect(
        gridCluster(await tensor([1, 2], { device: device() }), 1),
      ).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
      });
      await expect(gridCluster(x, 1, { sise: 2 } as never)).rejects.toThrow(/sise/);
    });
  });

  describe('labels', () => {
    const labels = [2, 0, 2, 4, 0, 2];
    const points = [
      [1, 10],
      [2, 20],
      [3, 30],
      [4, 40],
      [5, 50],
      [6, 60],
    ];

    it('sort rows, those of a cluster in their order', async () => {
      const x = await on(points, 'float64');
      const weights = await tensor([1, 2, 3, 4, 5, 6], { device: device() });
      const of = await labelled(labels);
      const { rows, labels: sorted, order } = await sortClusters([x, weights], of);
      expect(await rows[0].toNested()).toEqual([1, 4, 0, 2, 5, 3].map((at) => points[at]));
      expect(await asList(rows[1])).toEqual([2, 5, 1, 3, 6, 4]);
      expect(await asList(sorted)).toEqual([0, 0, 2, 2, 2, 4]);
      expect(await asList(order)).toEqual([1, 4, 0, 2, 5, 3]);
      const alone = await sortClusters(weights, of);
      expect(await asList(alone.rows)).toEqual([2, 5, 1, 3, 6, 4]);
    });

    it('give ranges and centroids, also of empty clusters', async () => {
      const of = await labelled(labels);
      const ranges = [
        [0, 2],
        [2, 2],
        [2, 5],
        [5, 5],
        [5, 6],
      ];
      expect(await asList(await clusterRanges(of))).toEqual(ranges.flat());
      expect(await asList(await clusterRanges(of, { count: 6 }))).toEqual([...ranges.flat(), 6, 6]);
      const x = await on(points, 'float64');
      const plain = await clusterCentroids(x, of);
      expect(await plain.centroids.toNested()).toEqual([
        [3.5, 35],
        [NaN, NaN],
        [10 / 3, 100 / 3],
        [NaN, NaN],
        [4, 40],
      ]);
      expect(await asList(plain.weights)).toEqual([2, 0, 3, 0, 1]);
      const weights = await tensor([1, 1, 2, 5, 3, 1], { dtype: 'float64', device: device() });
      const all = await clusterRangesCentroids(x, of, { weights });
      expect(await asList(all.ranges)).toEqual(ranges.flat());
      expect(await all.centroids.toNested()).toEqual([
        [4.25, 42.5],
        [0, 0],
        [3.25, 32.5],
        [0, 0],
        [4, 40],
      ]);
      expect(await asList(all.weights)).toEqual([4, 0, 4, 0, 5]);
    });

    it('are none where there are no rows', async () => {
      const none = await labelled([]);
      expect((await clusterRanges(none)).shape).toEqual([0, 2]);
    });

    it('refuse what does not fit', async () => {
      const of = await labelled(labels);
      const x = await on(points.slice(1), 'float32');
      await expect(sortClusters(x, of)).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
      await expect(clusterCentroids(x, of)).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
      const floats = (await tensor([1, 2], { device: device() })) as unknown as Tensor<'int32'>;
      await expect(clusterRanges(floats)).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
      await expect(clusterRanges(of, { count: 1.5 })).rejects.toThrow(/count is 1.5/);
      const whole = await on(points, 'float32');
      await expect(
        clusterCentroids(whole, of, { weights: await tensor([1, 2], { device: device() }) }),
      ).rejects.toThrow(/must be \[6\]/);
    });
  });

  describe('fromMatrix', () => {
    const rangesI: RowRange[] = [
      [2, 5],
      [7, 12],
    ];
    const rangesJ: RowRange[] = [
      [1, 4],
      [4, 9],
      [20, 30],
    ];
    const keep = [
      [1, 1, 0],
      [0, 1, 0],
    ];

    it('is what the host makes, of tensors and of lists', async () => {
      const wanted = rangesFromMatrix(rangesI, rangesJ, keep);
      const table = async (list: readonly RowRange[]): Promise<Tensor<'int64'>> =>
        tensor(BigInt64Array.from(list.flat(), BigInt), {
          shape: [list.length, 2],
          device: device(),
        });
      const masks = [
        await on(keep, 'float64'),
        await tensor(
          keep.map((row) => row.map(Boolean)),
          { device: device() },
        ),
      ];
      for (const mask of masks) {
        const found = await fromMatrix(await table(rangesI), await table(rangesJ), mask);
        expect(await listed(found)).toEqual(wanted);
        expect(await listed(swapAxes(found))).toEqual(swapAxes(wanted));
        expect(await listed(await fromMatrix(rangesI, rangesJ, mask))).toEqual(wanted);
      }
    });

    it('serves reductions over both sides, prepared ones, nonzero and gradients', async () => {
      const [x, y] = [await on(cloud(1, 13, 2), 'float64'), await on(cloud(2, 31, 2), 'float64')];
      const wanted = rangesFromMatrix(rangesI, rangesJ, keep);
      const found = await fromMatrix(rangesI, rangesJ, await on(keep, 'float32'));
      const formula = lazyI(x).sqdist(lazyJ(y)).neg().exp();
      for (const axis of ['i', 'j'] as const) {
        // Of lists of the host neighbouring spans are joined, so that sums are added up in another order.
        const sums = await asList(await formula.sum(axis, { ranges: wanted }));
        expect(await asList(await formula.sum(axis, { ranges: found }))).toEqual(
          sums.map((sum): unknown => expect.closeTo(sum, 13)),
        );
        const { indices } = await formula.gt(0.8).nonzero(axis, { ranges: found });
        const other = await formula.gt(0.8).nonzero(axis, { ranges: wanted });
        expect(await asList(indices)).toEqual(await asList(other.indices));
      }
      using prepared = await formula.reduction('Sum', 'j').prepare([], { ranges: found });
      const sums = await asList(prepared([]));
      expect(sums).toEqual(await asList(await formula.sum('j', { ranges: found })));
      found.redrangesJ.dispose();
      // A prepared call has a handle of its own.
      expect(await asList(prepared([]))).toEqual(sums);
      await expect(formula.sum('j', { ranges: found })).rejects.toThrow(/was disposed/);
    });

    it('takes symbolic masks, and clusters without rows or partners', async () => {
      const x = await on(cloud(3, 10, 2), 'float64');
      const centres = await on([[0], [10], [10.5]], 'float64');
      const near = lazyI(centres).sqdist(lazyJ(centres)).le(1);
      const ranges: RowRange[] = [
        [0, 4],
        [4, 4],
        [4, 9],
      ];
      const found = await fromMatrix(ranges, ranges, near);
      const counts = await lazyI(x).sqdist(lazyJ(x)).ge(0).sum('j', { ranges: found });
      expect(await asList(counts)).toEqual([4, 4, 4, 4, 5, 5, 5, 5, 5, 0]);
      const nothing = await fromMatrix(ranges, ranges, near.mul(0));
      const none = await lazyI(x).sqdist(lazyJ(x)).min('j', { ranges: nothing });
      expect(await asList(none)).toEqual(Array.from({ length: 10 }, () => Infinity));
    });

    it('checks tables that others made', async () => {
      const x = await on(cloud(3, 10, 2), 'float64');
      const formula = lazyI(x).sqdist(lazyJ(x)).ge(0);
      const table = async (...words: bigint[]): Promise<Tensor<'int64'>> =>
        tensor(BigInt64Array.from(words), { shape: [words.length / 2, 2], device: device() });
      const kept = { rangesI: [[0, 10] as const], slicesI: [2] };
      const right = { ...kept, redrangesJ: await table(1n, 3n, 5n, 6n) };
      expect((await asList(await formula.sum('j', { ranges: right })))[0]).toBe(3);
      const beyond = { ...kept, redrangesJ: await table(1n, 3n, 5n, 11n) };
      await expect(formula.sum('j', { ranges: beyond })).rejects.toThrow(/\[5, 11\].*10 rows/);
      const twice = { ...kept, redrangesJ: await table(1n, 6n, 5n, 7n) };
      await expect(formula.sum('j', { ranges: twice })).rejects.toThrow(/overlap/);
      const floats = { ...kept, redrangesJ: x as unknown as Tensor<'int64'> };
      await expect(formula.sum('j', { ranges: floats })).rejects.toThrow(
        /int64 tensor \(ranges, 2\)/,
      );
      // right for 10 rows, not for 8
      const small = await fromMatrix([[0, 10]], [[0, 10]], await on([[1]], 'float64'));
      const fewer = x.slice([0, 8]);
      await expect(lazyI(x).sqdist(lazyJ(fewer)).sum('j', { ranges: small })).rejects.toThrow(
        /\[0, 10\].*8 rows/,
      );
    });

    it('refuses what is no list of clusters', async () => {
      const mask = await on(keep, 'float64');
      await expect(fromMatrix(rangesJ, rangesI, mask)).rejects.toThrow(/keep is \(2, 3, 1\)/);
      await expect(fromMatrix(3 as never, rangesJ, mask)).rejects.toThrow(/rangesI is 3/);
      await expect(fromMatrix([null as never], rangesJ, mask)).rejects.toThrow(/\[0\] is \[null/);
      await expect(
        fromMatrix(
          [
            [7, 12],
            [2, 5],
          ],
          rangesJ,
          mask,
        ),
      ).rejects.toThrow(/rangesI\[1\]/);
      await expect(
        fromMatrix(
          rangesI,
          [
            [1, 4],
            [3, 9],
            [20, 30],
          ],
          mask,
        ),
      ).rejects.toThrow(/rangesJ\[1\]/);
      await expect(fromMatrix(rangesI, rangesJ, keep as never)).rejects.toThrow(/rangesFromMatrix/);
    });
  });

  it('give everything back but what they return', async () => {
    const x = await on(cloud(4, 200, 3), 'float32');
    const weights = await tensor(new Float32Array(200).fill(2), { device: device() });
    const mask = await on([[1]], 'float64');
    const labels = await gridCluster(x, 0.3);
    const key = random.key(1);
    const works: Record<string, () => Promise<readonly { dispose(): void }[]>> = {
      gridCluster: async () => [await gridCluster(x, 0.3)],
      'gridCluster that refuses': async () => {
        await expect(gridCluster(x, 1e-30)).rejects.toMatchObject({ code: 'LIMIT' });
        return [];
      },
      sortClusters: async () => {
        const { rows, labels: sorted, order } = await sortClusters(x, labels);
        return [rows, sorted, order];
      },
      clusterRanges: async () => [await clusterRanges(labels)],
      clusterCentroids: async () => disposables(await clusterCentroids(x, labels)),
      clusterRangesCentroids: async () =>
        disposables(await clusterRangesCentroids(x, labels, { weights })),
      fromMatrix: async () => {
        const { redrangesI, redrangesJ } = await fromMatrix([[0, 200]], [[0, 200]], mask);
        return [redrangesI, redrangesJ];
      },
      kMeans: async () => {
        const found = await kMeans(x, 3, { key, maxIterations: 2 });
        return [found.labels, found.centroids];
      },
      'kMeans with an empty cluster': async () => {
        using far = await on(
          [
            [0, 0, 0],
            [99, 99, 99],
          ],
          'float32',
        );
        const found = await kMeans(x, 2, { centroids: far, maxIterations: 2 });
        return [found.labels, found.centroids];
      },
      'truncatedRanges of one': async () => [await truncatedRanges(x, x, { cutoff: 0.2 })],
      'truncatedRanges of two': async () => {
        using other = await x.clone();
        return [await truncatedRanges(x, other, { cutoff: 0.2 })];
      },
    };
    const kept: Record<string, unknown> = {};
    for (const [name, work] of Object.entries(works)) {
      const once = async (): Promise<void> => {
        for (const one of await work()) one.dispose();
        await device().synchronize();
      };
      await once();
      kept[name] = await memoryKept(device(), once);
    }
    expect(kept).toEqual(Object.fromEntries(Object.keys(works).map((name) => [name, NOTHING])));
  });

  it('cluster a cloud from end to end as a dense sum does', async () => {
    const count = 500;
    const x = await random.uniform([count, 3], {
      key: random.key(5),
      dtype: 'float64',
      device: device(),
    });
    const { rows, labels } = await sortClusters(x, await gridCluster(x, 0.25));
    const cells = await clusterRanges(labels);
    const { centroids } = await clusterCentroids(rows, labels);
    // cells of 0.25 lie within 0.44 of their centroids' distance each
    const near = lazyI(centroids)
      .sqdist(lazyJ(centroids))
      .le((0.2 + 2 * 0.25 * Math.sqrt(3)) ** 2);
    const ranges = await fromMatrix(cells, cells, near);
    const ball = lazyI(rows)
      .sqdist(lazyJ(rows))
      .le(0.2 ** 2);
    expect(await asList(await ball.sum('j', { ranges }))).toEqual(
      await asList(await ball.sum('j')),
    );
  });
}
