import { empty, full, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { lazyI, lazyJ, param, rangesFromMatrix, type SelectedPairs } from './index.js';
import { upload, wholeNumbers, type Numbers } from './reference.test-support.js';

/** Pairs as numbers. */
export interface Dense {
  readonly offsets: readonly bigint[];
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

const at = ({ rows, dim, values }: Numbers, z: number, row: number, c: number): number =>
  values[(z * rows + row) * dim + c] ?? NaN;

/** Squared distances of at most 4 by loops, with the differences y - x; `y` has no batch axes. */
export function neighbours(
  x: Numbers,
  y: Numbers,
  axis: 'i' | 'j',
  meets: (i: number, j: number) => boolean = () => true,
): Dense {
  const [batch] = x.batch.length === 0 ? [1] : x.batch;
  const [kept, reduced] = axis === 'j' ? [x.rows, y.rows] : [y.rows, x.rows];
  const offsets = [0n];
  const [indices, values]: [number[], number[]] = [[], []];
  for (let z = 0; z < (batch ?? 1); z++) {
    for (let own = 0; own < kept; own++) {
      for (let other = 0; other < reduced; other++) {
        const [i, j] = axis === 'j' ? [own, other] : [other, own];
        const offset = [0, 1].map((c) => at(y, 0, j, c) - at(x, z, i, c));
        if (!meets(i, j) || offset.reduce((sum, d) => sum + d * d, 0) > 4) continue;
        indices.push(other);
        values.push(...offset);
      }
      offsets.push(BigInt(indices.length));
    }
  }
  return { offsets, indices, values };
}

/** The numbers of pairs. */
export async function readPairs({ offsets, indices, values }: SelectedPairs): Promise<Dense> {
  return {
    offsets: [...(await offsets.toTypedArray())],
    indices: [...(await indices.toTypedArray())],
    values: values === undefined ? [] : [...(await values.toTypedArray())],
  };
}

/** Pairs of rows where a mask is not 0, against loops. */
export function describeNonzero(device: () => Device): void {
  describe('nonzero', () => {
    it.each([
      ['j', 'float32', [], true],
      ['i', 'float64', [3], true],
      ['j', 'float64', [3], false],
      ['i', 'float32', [], false],
    ] as const)('finds neighbours over %s in %s, batch %j', async (axis, dtype, batch, valued) => {
      const [x, y] = [wholeNumbers(1, 37, 2, batch), wholeNumbers(2, 70, 2)];
      const a = lazyI(await upload(x, dtype, device()));
      const b = lazyJ(await upload(y, dtype, device()));
      const near = a.sqdist(b).le(4);
      const found = await near.nonzero(axis, valued ? { values: b.sub(a) } : {});
      const wanted = neighbours(x, y, axis);
      expect(wanted.indices.length).toBeGreaterThan(100);
      expect(await readPairs(found)).toEqual(valued ? wanted : { ...wanted, values: [] });
      expect(found.values?.shape).toEqual(valued ? [wanted.indices.length, 2] : undefined);
      expect(found.values?.dtype).toBe(valued ? dtype : undefined);
    });

    it('finds pairs of long vectors, with values that are sums of all their components', async () => {
      const [x, y] = [wholeNumbers(5, 19, 150), wholeNumbers(6, 70, 150)];
      const a = lazyI(await upload(x, 'float32', device()));
      const b = lazyJ(await upload(y, 'float32', device()));
      const squares = (i: number, j: number): number =>
        Array.from({ length: 150 }, (_, c) => (at(x, 0, i, c) - at(y, 0, j, c)) ** 2).reduce(
          (sum, square) => sum + square,
        );
      const middle = squares(0, 0);
      const found = await readPairs(
        await a
          .sqdist(b)
          .le(middle)
          .nonzero('j', { values: a.sqdist(b) }),
      );
      const pairs = Array.from({ length: 19 }, (_, i) =>
        Array.from({ length: 70 }, (_row, j) => j).filter((j) => squares(i, j) <= middle),
      );
      expect(found.indices).toEqual(pairs.flat());
      expect(found.values).toEqual(pairs.flatMap((js, i) => js.map((j) => squares(i, j))));
    });

    it('finds within ranges alone', async () => {
      const [x, y] = [wholeNumbers(3, 20, 2), wholeNumbers(4, 30, 2)];
      const [rows, columns] = [
        [
          [0, 8],
          [8, 20],
        ],
        [
          [0, 15],
          [15, 30],
        ],
      ] as const;
      const ranges = rangesFromMatrix(rows, columns, [
        [1, 0],
        [0, 1],
      ]);
      const a = lazyI(await upload(x, 'float64', device()));
      const b = lazyJ(await upload(y, 'float64', device()));
      for (const axis of ['i', 'j'] as const) {
        const found = await a
          .sqdist(b)
          .le(4)
          .nonzero(axis, { values: b.sub(a), ranges });
        const meets = (i: number, j: number): boolean => i < 8 === j < 15;
        expect(await readPairs(found)).toEqual(neighbours(x, y, axis, meets));
      }
    });

    it('finds the pairs that it counted where a rounding decides', async () => {
      // Values that share products with the mask; sums of squares on the edge or beside it, as they are rounded.
      const steps = Array.from({ length: 400 }, (_, n) => [Math.cos(n), Math.sin(n)]);
      const points = await tensor(steps, { device: device(), dtype: 'float32' });
      const [a, b] = [lazyI(points), lazyJ([[0, 0]])];
      const [dx, dy] = [a.sub(b).elem(0), a.sub(b).elem(1)];
      const mask = dx.mul(dx).add(dy.mul(dy)).le(1);
      const found = await mask.nonzero('i', { values: dx.mul(dx) });
      const { offsets, indices, values } = await readPairs(found);
      expect(offsets).toEqual([0n, BigInt(indices.length)]);
      const data = [...(await points.toTypedArray())];
      expect(values).toEqual(indices.map((i) => Math.fround((data[2 * i] ?? NaN) ** 2)));
      const first = indices.filter((one, place) => place === 0 || one > (indices[place - 1] ?? -1));
      expect(first).toEqual(indices);
      // Every product and sum rounded by itself.
      const square = (v = NaN): number => Math.fround(v * v);
      const inside = steps.flatMap((_, i) => {
        const sum = Math.fround(square(data[2 * i]) + square(data[2 * i + 1]));
        return sum <= 1 ? [i] : [];
      });
      expect(indices).toEqual(inside);
    });

    it('takes strided tensors, host data, parameters and NaN', async () => {
      const wide = await tensor([[1, 7, 2, 7, 5, 7]], { device: device(), dtype: 'float32' });
      const x = wide.reshape([3, 2]).slice(null, [0, 1]);
      const found = await lazyI(x)
        .sub(lazyJ([[1], [NaN], [5]]))
        .mul(param(2))
        .nonzero('j', { values: 3 });
      expect(await readPairs(found)).toEqual({
        offsets: [0n, 2n, 5n, 7n],
        indices: [1, 2, 0, 1, 2, 0, 1],
        values: [3, 3, 3, 3, 3, 3, 3],
      });
    });

    it.each([
      [0, true],
      [5, false],
    ] as const)('fills tensors with room for %d pairs more', async (more, isDense) => {
      const [x, y] = [wholeNumbers(1, 37, 2), wholeNumbers(2, 70, 2)];
      const a = lazyI(await upload(x, 'float32', device()));
      const b = lazyJ(await upload(y, 'float32', device()));
      const wanted = neighbours(x, y, 'j');
      const count = wanted.indices.length;
      const place = { device: device() };
      const shape = [count + more, isDense ? 1 : 2];
      const wide = await full(shape, -7, { ...place, dtype: 'int32' });
      const out = {
        offsets: empty([38], { ...place, dtype: 'int64' }),
        indices: wide.slice(null, 0),
        values: await full([count + more, 2], -7, { ...place, dtype: 'float32' }),
      };
      const found = await a
        .sqdist(b)
        .le(4)
        .nonzero('j', { values: b.sub(a), out });
      expect(found.offsets).toBe(out.offsets);
      expect(await readPairs(found)).toEqual(wanted);
      expect(await readPairs(out)).toEqual({
        ...wanted,
        indices: [...wanted.indices, ...Array<number>(more).fill(-7)],
        values: [...wanted.values, ...Array<number>(2 * more).fill(-7)],
      });
      const some = await a
        .sqdist(b)
        .le(4)
        .nonzero('j', { out: { indices: out.indices } });
      expect(some.indices.shape).toEqual([count]);
      expect((await readPairs(some)).offsets).toEqual(wanted.offsets);
    });

    it('writes nothing where there is too little room, or another shape or dtype', async () => {
      const x = await tensor([[1], [2], [3]], { device: device() });
      const near = lazyI(x).sub(lazyJ(x)).abs().le(1);
      const place = { device: device() };
      const offsets = await full([4], 9, { ...place, dtype: 'int64' });
      const indices = await full([6], 9, { ...place, dtype: 'int32' });
      await expect(near.nonzero('j', { out: { offsets, indices } })).rejects.toThrow(
        /nonzero: indices: out has room for 6 pairs, and there are 7/,
      );
      expect([...(await offsets.toTypedArray())]).toEqual([9n, 9n, 9n, 9n]);
      expect([...(await indices.toTypedArray())]).toEqual([9, 9, 9, 9, 9, 9]);
      for (const [out, says] of [
        [{ offsets: empty([3], { ...place, dtype: 'int64' }) }, /offsets/],
        [{ offsets: empty([4], { ...place, dtype: 'int32' }) as never }, /offsets.*int64/],
        [{ indices: empty([9, 1], { ...place, dtype: 'int32' }) }, /indices/],
        [{ values: empty([9, 1], { ...place, dtype: 'float32' }) }, /out has 'values'/],
      ] as const) {
        await expect(near.nonzero('j', { out })).rejects.toThrow(says);
      }
      const values = empty([9, 2], { ...place, dtype: 'float32' });
      await expect(near.nonzero('j', { values: near, out: { values } })).rejects.toThrow(/values/);
      await expect(near.nonzero('j', { values: near, out: { values: x } })).rejects.toThrow(
        /overlap|memory/,
      );
    });

    it('gives empty results', async () => {
      const x = await tensor([[1], [2]], { device: device() });
      const none: Tensor<'float32'> = empty([0, 1], { device: device(), dtype: 'float32' });
      for (const [of, rows] of [
        [lazyI(x).gt(lazyJ(x).add(5)), 2],
        [lazyI(x).sub(lazyJ(none)), 2],
        [lazyI(none).sub(lazyJ(x)), 0],
      ] as const) {
        const found = await of.nonzero('j', { values: of.concat(1) });
        expect(await readPairs(found)).toEqual({
          offsets: Array.from({ length: rows + 1 }, () => 0n),
          indices: [],
          values: [],
        });
        expect(found.values?.shape).toEqual([0, 2]);
      }
    });

    it('keeps what it made and nothing else', async () => {
      const x = lazyI(await tensor([[1], [2]], { device: device() }));
      const mask = x.sub(lazyJ([[1], [3]]));
      const kept = await memoryKept(device(), async () => {
        const found = await mask.nonzero('j', { values: mask });
        for (const one of [found.offsets, found.indices, found.values]) one?.dispose();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
