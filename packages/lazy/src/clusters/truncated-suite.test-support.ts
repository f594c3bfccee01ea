import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  cutoffOf,
  gradient,
  lazyI,
  lazyJ,
  swapAxes,
  truncatedRanges,
  type LazyTensor,
  type Ranges,
  type TruncatedOptions,
  type TruncatedRanges,
} from '../index.js';
import { asList, cloud, listed } from './clusters-suite.test-support.js';

type Points = readonly (readonly number[])[];

const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.sqrt(a.reduce((sum, one, axis) => sum + (one - (b[axis] ?? NaN)) ** 2, 0));

/** Which pairs of sorted rows ranges hold. */
function pairsOf({ rangesI, slicesI, redrangesJ }: Ranges, columns: number): Set<number> {
  const pairs = new Set<number>();
  for (const [k, [start, end]] of rangesI.entries()) {
    for (const [from, until] of redrangesJ.slice(slicesI[k - 1] ?? 0, slicesI[k])) {
      for (let i = start; i < end; i++) {
        for (let j = from; j < until; j++) pairs.add(i * columns + j);
      }
    }
  }
  return pairs;
}

/** Kernels of the distance by their formulas, with bandwidth h. */
const KERNELS = {
  gaussian: (r: number, h: number) => Math.exp(-(r ** 2) / (2 * h ** 2)),
  laplacian: (r: number, h: number) => Math.exp(-r / h),
  matern32: (r: number, h: number) =>
    (1 + (Math.sqrt(3) * r) / h) * Math.exp((-Math.sqrt(3) * r) / h),
  matern52: (r: number, h: number) =>
    (1 + (Math.sqrt(5) * r) / h + (5 * r ** 2) / (3 * h ** 2)) * Math.exp((-Math.sqrt(5) * r) / h),
  cauchy: (r: number, h: number) => 1 / (1 + r ** 2 / h ** 2),
  inverseMultiquadric: (r: number, h: number) => 1 / Math.sqrt(1 + r ** 2 / h ** 2),
} as const;

describe.each(Object.entries(KERNELS))('cutoffOf: %s', (kernel, value) => {
  it.each([0.5, 1e-3, 1e-9])('is where it is %d', (error) => {
    for (const bandwidth of [1, 0.03, 20]) {
      const cutoff = cutoffOf({ kernel: kernel as keyof typeof KERNELS, bandwidth, error });
      expect(value(cutoff, bandwidth) / error).toBeCloseTo(1, 9);
      const found = cutoffOf({ kernel: (r) => value(r, 1), bandwidth, error });
      expect(found / cutoff).toBeCloseTo(1, 7);
      expect(value(found / bandwidth, 1)).toBeLessThanOrEqual(error * (1 + 1e-14));
    }
  });
});

describe('cutoffOf', () => {
  it('refuses what has no cutoff', () => {
    expect(cutoffOf({ kernel: 'gaussian', error: 2 })).toBe(0);
    expect(() => cutoffOf({ kernel: 'gaussian', error: 0 })).toThrow(/error is 0/);
    expect(() => cutoffOf({ kernel: 'gaussian', bandwidth: -1, error: 0.1 })).toThrow(
      /bandwidth is -1/,
    );
    expect(() => cutoffOf({ kernel: 'gauss' as 'gaussian', error: 0.1 })).toThrow(
      /gaussian, laplacian/,
    );
    expect(() => cutoffOf({ kernel: () => 1, error: 0.1 })).toThrow(/still 1 at distance/);
    expect(() => cutoffOf({ kernel: () => NaN, error: 0.1 })).toThrow(/NaN/);
  });
});

/** A truncated sum is within its bound of the whole one, and holds every pair that is near. */
export function describeTruncated(device: () => Device): void {
  const on = async (
    points: Points,
    dtype: 'float32' | 'float64' = 'float64',
  ): Promise<Tensor<'float64'>> =>
    (await tensor(Float64Array.from(points.flat()), {
      shape: [points.length, points[0]?.length ?? 1],
      dtype,
      device: device(),
    })) as Tensor<'float64'>;

  const gaussian = (near: TruncatedRanges<'float64'>, h: number): LazyTensor<'float64'> =>
    lazyI(near.x)
      .sqdist(lazyJ(near.y))
      .mul(-1 / (2 * h ** 2))
      .exp();

  /** All that is said of kept pairs, pair by pair; gives how many there are. */
  async function checkPairs(
    x: Points,
    y: Points,
    near: TruncatedRanges<'float64'>,
  ): Promise<number> {
    const ranges = await listed(near.ranges);
    const [orderI, orderJ] = [await asList(near.orderI), await asList(near.orderJ)];
    expect(orderI.toSorted((a, b) => a - b)).toEqual([...x.keys()]);
    expect(orderJ.toSorted((a, b) => a - b)).toEqual([...y.keys()]);
    const kept = pairsOf(ranges, y.length);
    const turned = pairsOf(swapAxes(ranges), x.length);
    expect(near.pairs).toBe(kept.size);
    expect(turned.size).toBe(kept.size);
    const wrong: (readonly [i: number, j: number])[] = [];
    for (const [i, a] of orderI.entries()) {
      for (const [j, b] of orderJ.entries()) {
        const isKept = kept.has(i * y.length + j);
        const isFar = distance(x[a] ?? [], y[b] ?? []) > near.cutoff;
        if (turned.has(j * x.length + i) !== isKept || !(isKept || isFar)) wrong.push([i, j]);
      }
    }
    expect(wrong).toEqual([]);
    return kept.size;
  }

  describe('truncatedRanges', () => {
    it.each([
      [1, 300, 170, 0.05, 16],
      [2, 250, 260, 0.2, 8],
      [3, 300, 200, 0.3, 8],
      [5, 120, 130, 0.3, 5],
    ])(
      'keep every near pair, in both directions: %i axes',
      async (dim, m, n, cutoff, clusterSize) => {
        const [x, y] = [cloud(1, m, dim), cloud(2, n, dim)];
        for (const dtype of ['float32', 'float64'] as const) {
          using near = await truncatedRanges(await on(x, dtype), await on(y, dtype), {
            cutoff,
            clusterSize,
          });
          expect(await near.x.toNested()).toEqual((await asList(near.orderI)).map((at) => x[at]));
          expect(near.error).toBeUndefined();
          expect(await checkPairs(x, y, near)).toBeLessThan(0.8 * m * n);
        }
      },
    );

    it('keep symmetric pairs of one set of points', async () => {
      const points = cloud(6, 333, 3);
      const x = await on(points);
      using near = await truncatedRanges(x, x, { cutoff: 0.25, clusterSize: 8 });
      expect(near.y).toBe(near.x);
      expect(near.ranges.redrangesI).toBe(near.ranges.redrangesJ);
      expect(await checkPairs(points, points, near)).toBeLessThan(0.7 * 333 ** 2);
    });

    it('meet at the cutoff itself', async () => {
      const x = await on([[0], [1], [2], [3.5]]);
      using near = await truncatedRanges(x, x, { cutoff: 1, clusterSize: 1 });
      const counts = await near.restore(
        lazyI(near.x).sqdist(lazyJ(near.y)).ge(0).sum('j', { ranges: near.ranges }),
      );
      expect(await asList(counts)).toEqual([2, 3, 2, 1]);
      expect(near.pairs).toBe(8);
    });

    it.each([
      ['gaussian', 0.03, 1e-6],
      ['gaussian', 0.1, 1e-2],
      ['laplacian', 0.03, 1e-3],
      ['matern32', 0.03, 1e-4],
      ['matern52', 0.03, 1e-4],
      ['cauchy', 0.03, 0.02],
    ] as const)(
      'change a sum by no more than is said: %s, bandwidth %d, error %d',
      async (kernel, h, error) => {
        const [x, y] = [cloud(3, 400, 3), cloud(4, 300, 3)];
        const weights = cloud(5, 300, 2);
        using near = await truncatedRanges(await on(x), await on(y), {
          kernel,
          bandwidth: h,
          error,
          clusterSize: 8,
        });
        const r2 = lazyI(near.x).sqdist(lazyJ(near.y));
        const r = r2.sqrt().mul(1 / h);
        const formula = {
          gaussian: () => gaussian(near, h),
          laplacian: () => r.neg().exp(),
          matern32: () =>
            r
              .mul(Math.sqrt(3))
              .add(1)
              .mul(r.mul(-Math.sqrt(3)).exp()),
          matern52: () =>
            r
              .mul(Math.sqrt(5))
              .add(1)
              .add(r.square().mul(5 / 3))
              .mul(r.mul(-Math.sqrt(5)).exp()),
          cauchy: () =>
            r2
              .mul(1 / h ** 2)
              .add(1)
              .pow(-1),
        }[kernel]();
        const b = await near.sortJ(await on(weights));
        const sums = formula.mul(lazyJ(b)).sum('j', { ranges: near.ranges });
        const found = await asList(await near.restore(sums));
        const size = [0, 1].map((c) =>
          weights.reduce((sum, row) => sum + Math.abs(row[c] ?? NaN), 0),
        );
        let largest = 0;
        for (const [i, one] of x.entries()) {
          for (const c of [0, 1]) {
            const terms = y.map(
              (other, j) => KERNELS[kernel](distance(one, other), h) * (weights[j]?.[c] ?? NaN),
            );
            const whole = terms.reduce((sum, term) => sum + term, 0);
            const difference = Math.abs((found[2 * i + c] ?? NaN) - whole);
            largest = Math.max(largest, difference);
            // 300 roundings of terms of at most 1
            expect(difference).toBeLessThanOrEqual(error * (size[c] ?? NaN) + 1e-12);
          }
        }
        // something was left out
        expect(near.pairs).toBeLessThan(400 * 300);
        expect(largest).toBeGreaterThan(1e-13);
      },
    );

    it('have the derivatives of the pairs that are kept, by both sides and by weights', async () => {
      const [x, y] = [cloud(3, 120, 2), cloud(4, 90, 2)];
      const h = 0.05;
      using near = await truncatedRanges(await on(x), await on(y), {
        kernel: 'gaussian',
        bandwidth: h,
        error: 1e-5,
        clusterSize: 6,
      });
      const ranges = await listed(near.ranges);
      const kept = pairsOf(ranges, 90);
      const [orderI, orderJ] = [await asList(near.orderI), await asList(near.orderJ)];
      const wantedX = x.map(() => [0, 0]);
      const wantedY = y.map(() => [0, 0]);
      for (const [i, a] of orderI.entries()) {
        for (const [j, b] of orderJ.entries()) {
          if (!kept.has(i * 90 + j)) continue;
          const [one, other] = [x[a] ?? [], y[b] ?? []];
          const value = KERNELS.gaussian(distance(one, other), h);
          for (const axis of [0, 1]) {
            const slope = (-value * ((one[axis] ?? NaN) - (other[axis] ?? NaN))) / h ** 2;
            wantedX[a]![axis]! += slope;
            wantedY[b]![axis]! -= slope;
          }
        }
      }
      const [vx, vy] = [lazyI(near.x), lazyJ(near.y)];
      const sum = vx
        .sqdist(vy)
        .mul(-1 / (2 * h ** 2))
        .exp()
        .reduction('Sum', 'j');
      const ones = await tensor(new Float64Array(120).fill(1), {
        shape: [120, 1],
        device: device(),
      });
      const byX = await near.restore(gradient(sum, vx, ones, { ranges: near.ranges }), 'i');
      const byY = await near.restore(gradient(sum, vy, ones, { ranges: near.ranges }), 'j');
      for (const [found, wanted] of [
        [await asList(byX), wantedX.flat()],
        [await asList(byY), wantedY.flat()],
      ] as const) {
        for (const [at, one] of wanted.entries())
          expect(Math.abs((found[at] ?? NaN) - one)).toBeLessThan(1e-10);
      }
    });

    it('take equal points, one point, and lines and planes in space', async () => {
      const equal = Array.from({ length: 50 }, () => [2, 3, 4]);
      const line = Array.from({ length: 90 }, (_, at) => [1, at / 90, 1]);
      const plane = cloud(7, 200, 2).map(([a = 0, b = 0]) => [a, 5, b]);
      for (const [points, least] of [
        [equal, 2500],
        [[[1, 2, 3]], 1],
        [line, 90],
        [plane, 200],
      ] as const) {
        const x = await on(points);
        using near = await truncatedRanges(x, x, { cutoff: 0.1, clusterSize: 4 });
        const kept = await checkPairs(points, points, near);
        expect(kept).toBeGreaterThanOrEqual(least);
        if (points.length > 50) expect(kept).toBeLessThan(0.5 * points.length ** 2);
      }
    });

    it('choose clusters of 32 to 512 rows by the cutoff', async () => {
      const x = await on(cloud(7, 3000, 3), 'float32');
      for (const [cutoff, rows] of [
        [0.1, 32],
        [1.2, 32],
        [2, 128],
        [5, 512],
      ] as const) {
        using near = await truncatedRanges(x, x, { cutoff });
        expect(near.ranges.rangesI[0]).toEqual([0, rows]);
      }
    });

    it('cost no more pairs than twice those within the cutoff, of many points', async () => {
      const points = cloud(11, 20000, 3);
      const x = await on(points, 'float32');
      using near = await truncatedRanges(x, x, { cutoff: 0.5 });
      const within = await lazyI(x).sqdist(lazyJ(x)).le(0.25).sum('j');
      const total = (await asList(within)).reduce((sum, one) => sum + one, 0);
      expect(near.pairs).toBeGreaterThanOrEqual(total);
      expect(near.pairs).toBeLessThan(2 * total);
    });

    it('serve sums of prepared calls and of a whole set', async () => {
      const x = await on(cloud(2, 100, 2));
      using near = await truncatedRanges(x, x, { cutoff: 10 });
      expect(near.pairs).toBe(10000);
      using prepared = await gaussian(near, 0.1)
        .reduction('Sum', 'j')
        .prepare([], { ranges: near.ranges });
      const whole = await asList(await near.restore(await gaussian(near, 0.1).sum('j')));
      const found = await asList(await near.restore(prepared([])));
      // in another order, where the blocks are others
      for (const [row, value] of whole.entries()) expect(found[row]).toBeCloseTo(value, 12);
    });

    it('refuse what is not known, and points that lie nowhere', async () => {
      const x = await on(cloud(2, 10, 2));
      const refused = (options: TruncatedOptions, y = x): Promise<unknown> =>
        truncatedRanges(x, y, options);
      await expect(refused({})).rejects.toThrow(/Pass \{ cutoff \}/);
      await expect(refused({ cutoff: 1, error: 1e-3 })).rejects.toThrow(/Pass \{ cutoff \}/);
      await expect(refused({ kernel: 'gaussian' })).rejects.toThrow(/Pass \{ cutoff \}/);
      await expect(refused({ cutoff: -1 })).rejects.toThrow(/cutoff is -1/);
      await expect(refused({ cutoff: 1, clusterSize: 0 })).rejects.toThrow(/clusterSize is 0/);
      await expect(refused({ cutoff: 1 }, await on([[1, Infinity]]))).rejects.toThrow(
        /y goes from/,
      );
      const none = await tensor(new Float64Array(0), { shape: [0, 2], device: device() });
      await expect(refused({ cutoff: 1 }, none)).rejects.toThrow(/y has no rows/);
      await expect(refused({ cutoff: 1 }, await on([[1, 2, 3]]))).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
      });
      await expect(refused({ cutoff: 1 }, await on([[1, 2]], 'float32'))).rejects.toMatchObject({
        code: 'DTYPE_MISMATCH',
      });
      using near = await truncatedRanges(x, x, { cutoff: 1 });
      expect(() => near.restore(x, 'k' as 'i')).toThrow(/side is "k"/);
    });
  });
}
