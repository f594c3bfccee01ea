import { describe, expect, it, test } from 'vitest';
import { empty, full, tensor } from './create.js';
import { devices } from './devices.js';
import type { MercerError } from './mercer-error.js';

/* What only a GPU with much memory can show: more than 2^31 elements, and a device that is really full. */

const NEEDED = 60 * 2 ** 30;
const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  const { freeBytes } = gpu.memory();
  const device = gpu;

  describe(`${gpu.id} beyond 2^31 elements`, () => {
    const roomy = freeBytes >= NEEDED;
    if (!roomy) it.skip(`${freeBytes} bytes free, ${NEEDED} needed`, () => undefined);
    it.skipIf(!roomy)('fills and casts in one run of elements', { timeout: 120_000 }, async () => {
      const size = 2 ** 31 + 12_345;
      const a = await full([size], 3, { dtype: 'uint8', device });
      await a.slice([size - 5]).fill(200);
      const b = await a.cast('float16');
      const c = await b.cast('float64');
      const spots = [0, 1, 2 ** 31 - 1, 2 ** 31, size - 6, size - 5, size - 1];
      for (const spot of spots) {
        const expected = spot >= size - 5 ? 200 : 3;
        expect([
          await a.slice(spot).toNested(),
          await b.slice(spot).toNested(),
          await c.slice(spot).toNested(),
        ]).toEqual([expected, expected, expected]);
      }
      await c.fill(-1.5); // eight bytes wide, unequal halves: the kernel, not the driver
      expect(Array.from(await c.slice([size - 3]).toTypedArray())).toEqual([-1.5, -1.5, -1.5]);
      for (const t of [a, b, c]) t.dispose();
    });

    it.skipIf(!roomy)(
      'broadcasts and transposes a matrix of 2.5e9 elements',
      { timeout: 120_000 },
      async () => {
        const n = 50_000;
        const row = await tensor(
          Int32Array.from({ length: n }, (_, i) => i * 7),
          { device },
        );
        const matrix = empty([n, n], { dtype: 'int32', device });
        await matrix.copyFrom(row);
        const turned = await matrix.transpose().clone();
        for (const i of [0, 1, 31, 32, 12_345, 42_950, n - 1]) {
          expect(
            (await turned.slice(i).toTypedArray()).every((x) => x === i * 7),
            `row ${i}`,
          ).toBe(true);
          expect(await matrix.slice(i, n - 1).toNested()).toBe((n - 1) * 7);
        }
        const reversed = await turned.slice([null, null, -1], [null, null, -2]).clone();
        expect(reversed.shape).toEqual([n, n / 2]);
        expect((await reversed.slice(3).toTypedArray()).every((x) => x === (n - 4) * 7)).toBe(true);
        for (const t of [row, matrix, turned, reversed]) t.dispose();
      },
    );

    it.skipIf(!roomy)('copies three dimensions with gaps', { timeout: 120_000 }, async () => {
      const shape = [1500, 1500, 1000]; // 2.25e9 elements of one byte
      const plane = await tensor(
        Uint8Array.from({ length: 1000 }, (_, i) => i & 255),
        { device },
      );
      const all = empty([1500, 1501, 1002], { dtype: 'uint8', device });
      await all.fill(99);
      await all.slice(null, [1], [2]).copyFrom(plane);
      const packed = await all.slice(null, [1], [2]).clone();
      expect(packed.shape).toEqual(shape);
      const expected = Array.from({ length: 1000 }, (_, i) => i & 255);
      for (const [i, j] of [
        [0, 0],
        [1431, 655],
        [1431, 656],
        [1499, 1499],
      ]) {
        expect(Array.from(await packed.slice(i ?? 0, j ?? 0).toTypedArray())).toEqual(expected);
      }
      expect(Array.from(await all.slice(1499, 1500, [0, 3]).toTypedArray())).toEqual([99, 99, 0]);
      for (const t of [plane, all, packed]) t.dispose();
    });
  });

  describe(`${gpu.id} when it is full`, () => {
    it('says what holds the memory, and works again', { timeout: 120_000 }, async () => {
      const { totalBytes, liveBytes } = device.memory();
      const held = empty([2 ** 20], { device });
      const error = await full([totalBytes], 1, { dtype: 'uint8', device }).catch(
        (e: unknown) => e,
      );
      expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
      expect((error as MercerError).message).toContain('float32 [1048576]');
      await held.fill(4);
      expect((await held.toTypedArray())[2 ** 20 - 1]).toBe(4);
      held.dispose();
      // Less where the attempt also collected what earlier tests forgot.
      expect(device.memory().liveBytes).toBeLessThanOrEqual(liveBytes);
    });

    it('frees what a synchronous loop forgot', { timeout: 120_000 }, async () => {
      const before = device.memory();
      const each = 2 ** 30;
      const rounds = Math.ceil((2 * before.totalBytes) / each);
      for (let i = 0; i < rounds; i++) empty([each], { dtype: 'uint8', device });
      const after = device.memory();
      expect(after.leaks - before.leaks).toBeGreaterThan(rounds / 2);
      expect(after.liveBytes).toBeLessThan(before.totalBytes);
      await device.synchronize();
    });
  });
}
