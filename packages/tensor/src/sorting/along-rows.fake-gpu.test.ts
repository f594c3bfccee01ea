import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { argSort, cumSum, device, sort, zeros, type DType, type Tensor } from '../index.js';
import { launches } from '../testing/what-happens.test-support.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 28 });
});

const made = (shape: readonly number[], dtype: DType = 'float32'): Promise<Tensor> =>
  zeros(shape, { dtype, device: 'cuda:0' });

describe.skipIf(!nvrtcFound())(
  'rows in order on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    it('launch a map for each step of the network', async () => {
      using x = await made([2, 8]);
      // keys, places, 6 steps of rows of 8, and the copy into the result
      expect(await launches(() => argSort(x))).toBe(9);
      // rows that are filled up take one launch more
      expect(await launches(() => argSort(x.slice(null, [0, 7])))).toBe(10);
      expect(await launches(() => sort(x.slice([0, 0])))).toBe(0);
    });

    it('read int64 as two words, of which each is a key', async () => {
      using x = await made([2, 8], 'int64');
      const kept = await memoryKept(device('cuda:0'), async () => {
        const sorts = (one: Tensor) =>
          launches(async () => {
            (await argSort(one)).dispose();
          });
        for (let call = 0; call < 2; call++) expect(await sorts(x)).toBe(10);
        using part = x.slice(null, [1, 8]);
        expect(await sorts(part)).toBe(12);
      });
      expect(kept).toEqual(NOTHING);
      expect(() => x.assertAlive()).not.toThrow();
    });

    it('add up in a kernel for each doubling of the distance', async () => {
      using x = await made([2, 8]);
      // zeros before both scratch rows, a copy, and distances 1, 2 and 4
      expect(await launches(() => cumSum(x))).toBe(6);
      expect(await launches(() => cumSum(x.slice(null, [0, 1])))).toBe(1);
    });
  },
);
