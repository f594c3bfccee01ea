import { describe, expect, it } from 'vitest';
import { empty, full, tensor } from '../create.js';
import type { Device } from '../device.js';
import { sumTo } from '../sum-to.js';
import { randomBits } from './random.test-support.js';

/** The sum by definition, of a row-major array. */
function oracle(
  data: ArrayLike<number>,
  shape: readonly number[],
  target: readonly number[],
): number[] {
  const lead = shape.length - target.length;
  const sums = new Array<number>(target.reduce((a, b) => a * b, 1)).fill(0);
  Array.from(data).forEach((value, at) => {
    let [rest, index, step] = [at, 0, 1];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const extent = shape[axis] ?? 1;
      const position = rest % extent;
      rest = Math.floor(rest / extent);
      if (axis < lead) continue;
      const kept = target[axis - lead] ?? 1;
      if (kept > 1) index += position * step;
      step *= kept;
    }
    sums[index] = (sums[index] ?? 0) + value;
  });
  return sums;
}

/** Sums over broadcast axes on one device. */
export function sumToSuite(name: string, getDevice: () => Device): void {
  describe(`sums over broadcast axes on ${name}`, () => {
    it.each([
      [[4, 5], [5]],
      [
        [4, 5],
        [4, 1],
      ],
      [[4, 5], []],
      [
        [2, 3, 4, 5],
        [3, 1, 5],
      ],
      [
        [2, 3, 4, 5],
        [1, 3, 1, 5],
      ],
      [
        [3, 1, 2000],
        [3, 1, 1],
      ],
      [[7, 300], [1]],
    ])('%j to %j', async (shape, target) => {
      const bits = randomBits(3);
      for (const dtype of ['float32', 'float64'] as const) {
        const data = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
          Math.fround(bits() / 2 ** 31 - 1),
        );
        const x = await tensor(data, { dtype, shape, device: getDevice() });
        const turned = await tensor(data, { dtype, shape, device: getDevice() });
        const backwards = turned.slice(...shape.map((): [null, null, -1] => [null, null, -1]));
        for (const [view, values] of [
          [x, data],
          [backwards, data.toReversed()],
        ] as const) {
          const sum = await sumTo(view, target);
          expect([sum.shape, sum.dtype, sum.isContiguous]).toEqual([target, dtype, true]);
          const expected = oracle(values, shape, target);
          const found = await sum.toTypedArray();
          expected.forEach((value, i) => {
            const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -50;
            expect(Math.abs((found[i] ?? NaN) - value)).toBeLessThanOrEqual(
              unit * (1 + Math.abs(value)),
            );
          });
          sum.dispose();
        }
        for (const t of [x, turned, backwards]) t.dispose();
      }
    });

    it('is another handle where nothing is summed', async () => {
      const x = await full([1, 3], 2, { device: getDevice() });
      const same = await sumTo(x, [3]);
      expect(same.storage).toBe(x.storage);
      expect(await same.toNested()).toEqual([2, 2, 2]);
      for (const t of [x, same]) t.dispose();
    });

    it('rounds once to another dtype', async () => {
      const third = await full([3, 1, 5], 1 / 3, { dtype: 'float64', device: getDevice() });
      for (const [target, value] of [
        [[1, 1, 5], Math.fround(1)],
        [[3, 1, 1], Math.fround(5 / 3)],
        [[3, 1, 5], Math.fround(1 / 3)],
      ] as const) {
        const sum = await sumTo(third, target, { dtype: 'float32' });
        expect([sum.dtype, sum.shape]).toEqual(['float32', target]);
        expect(new Set(await sum.toTypedArray())).toEqual(new Set([value]));
        sum.dispose();
      }
      third.dispose();
    });

    it('is 0 over no elements, and empty where nothing is kept', async () => {
      const none = empty([0, 3], { device: getDevice() });
      expect(await (await sumTo(none, [3])).toNested()).toEqual([0, 0, 0]);
      expect((await sumTo(none, [0, 1])).shape).toEqual([0, 1]);
    });
  });
}
