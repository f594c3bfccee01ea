import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { gradient, lazyI, lazyJ, rangesFromMatrix } from '../index.js';
import { uniform, type Numbers } from '../reference.test-support.js';
import { at, expectClose, numbersOf, square } from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

const [COUNT, WIDTH, CELL] = [ownSize(1500, 5000), 0.05, 0.05];

interface Clusters {
  readonly points: Numbers;
  /** The first and last row of each cell of the grid, the last excluded. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly centroids: readonly (readonly [number, number])[];
}

/** Points of the plane sorted by the cells of a grid. */
function clusters(points: readonly (readonly [number, number])[]): Clusters {
  const cellOf = ([x, y]: readonly [number, number]): string =>
    `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;
  const cells = new Map<string, (readonly [number, number])[]>();
  for (const point of points) {
    cells.set(cellOf(point), [...(cells.get(cellOf(point)) ?? []), point]);
  }
  let end = 0;
  const groups = [...cells.values()];
  return {
    points: { batch: [], rows: points.length, dim: 2, values: Float64Array.from(groups.flat(2)) },
    ranges: groups.map((group) => [end, (end += group.length)] as const),
    centroids: groups.map((group) => {
      const mean = (axis: 0 | 1): number =>
        group.reduce((sum, point) => sum + point[axis], 0) / group.length;
      return [mean(0), mean(1)] as const;
    }),
  };
}

function scene(): { x: Clusters; y: Clusters } {
  const random = uniform(61);
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const draw = (point: () => readonly [number, number]): Clusters =>
    clusters(
      Array.from({ length: COUNT }, () => {
        const [x, y] = point();
        return [Math.fround(x), Math.fround(y)] as const;
      }),
    );
  const ellipse = draw(() => {
    const angle = 2 * Math.PI * random();
    return [0.8 * Math.cos(angle) + 0.01 * normal(), 0.4 * Math.sin(angle) + 0.01 * normal()];
  });
  return { x: ellipse, y: draw(() => [0.3 * normal(), 0.3 * normal()]) };
}

/** Gaussians of points of the plane whose far blocks are left out, as KeOps tests them. */
export function describeKeopsRanges(device: () => Device): void {
  describe('block-sparse gaussians', () => {
    const { x, y } = scene();
    const keep = x.centroids.map(([a, b]) =>
      y.centroids.map(([c, d]) => Math.hypot(a - c, b - d) < 4 * WIDTH),
    );
    const ranges = rangesFromMatrix(x.ranges, y.ranges, keep);
    const put = ({ points }: Clusters): Promise<Tensor<'float64'>> =>
      tensor(points.values, { shape: [COUNT, 2], dtype: 'float64', device: device() });

    it('give the sums over the blocks that are kept, within 0.2% of the dense sums', async () => {
      const gaussian = lazyI(await put(x))
        .sqdist(lazyJ(await put(y)))
        .div(-2 * WIDTH ** 2)
        .exp();
      const sparse = await numbersOf(await gaussian.sum('j', { ranges }));
      const transposed = await numbersOf(await gaussian.sum('i', { ranges }));
      const wanted = { rows: new Float64Array(COUNT), columns: new Float64Array(COUNT) };
      const [dense, cellOfY] = [new Float64Array(COUNT), new Int32Array(COUNT)];
      y.ranges.forEach(([start, end], cell) => cellOfY.fill(cell, start, end));
      x.ranges.forEach(([start, end], cell) => {
        for (let i = start; i < end; i++) {
          for (let j = 0; j < COUNT; j++) {
            const term = Math.exp(square(x.points, i, y.points, j) / (-2 * WIDTH ** 2));
            dense[i]! += term;
            if (keep[cell]?.[cellOfY[j] ?? -1] !== true) continue;
            wanted.rows[i]! += term;
            wanted.columns[j]! += term;
          }
        }
      });
      const all = { atol: 1e-11, rtol: 1e-11 };
      expectClose(sparse, wanted.rows, all);
      expectClose(transposed, wanted.columns, all);
      const total = dense.reduce((sum, value) => sum + value, 0);
      const missing = dense.reduce(
        (sum, value, i) => sum + Math.abs(value - (sparse[i] ?? NaN)),
        0,
      );
      expect(missing).toBeGreaterThan(0);
      expect(missing).toBeLessThan(0.002 * total);
    });

    it('have gradients over the same blocks, and keep no memory', async () => {
      const [a, b] = [lazyI(await put(x)), lazyJ(await put(y))];
      const of = a.sqdist(b).reduction('Sum', 'j');
      const seed = await tensor(new Float64Array(COUNT).fill(1), {
        shape: [COUNT, 1],
        device: device(),
      });
      const found = await gradient(of, b, seed, { ranges });
      const wanted = new Float64Array(2 * COUNT);
      x.ranges.forEach(([start, end], cell) =>
        y.ranges.forEach(([first, last], other) => {
          if (keep[cell]?.[other] !== true) return;
          for (let i = start; i < end; i++) {
            for (let j = first; j < last; j++) {
              for (const c of [0, 1])
                wanted[2 * j + c]! += 2 * (at(y.points, j, c) - at(x.points, i, c));
            }
          }
        }),
      );
      expectClose(await numbersOf(found), wanted, { atol: 1e-10 });
      found.dispose();
      const round = async (): Promise<number> => {
        for (let call = 0; call < 3; call++) {
          (await of.call([], { ranges })).dispose();
          (await gradient(of, b, seed, { ranges })).dispose();
        }
        await device().synchronize();
        return device().memory().liveBytes;
      };
      const before = await round();
      expect(await round()).toBeLessThanOrEqual(before);
    });
  });
}
