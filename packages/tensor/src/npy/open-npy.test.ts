import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openNpy, readNpy, writeNpy } from './index.js';
import { fileWith, headerText, rejectionCode } from './testing/broken-files.test-support.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-npy-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('rows of a .npy file', () => {
  it('are those of the whole file, wherever they begin and in any type', async () => {
    const path = join(folder, 'some.npy');
    for (const data of [
      Float32Array.from({ length: 60 }, (_, at) => at / 7),
      Float64Array.from({ length: 60 }, (_, at) => at / 7),
      BigInt64Array.from({ length: 60 }, (_, at) => BigInt(at)),
    ]) {
      await writeNpy(path, { data, shape: [10, 3, 2] });
      const whole = await readNpy(path);
      await using file = await openNpy(path);
      expect(file.shape).toEqual([10, 3, 2]);
      expect(file.dtype).toBe(whole.dtype);
      for (const [first, count] of [
        [0, 10],
        [3, 4],
        [9, 1],
        [10, 0],
        [0, 0],
      ] as const) {
        const rows = await file.readRows(first, count);
        expect(rows.shape).toEqual([count, 3, 2]);
        expect(rows.data).toEqual(whole.data.slice(6 * first, 6 * (first + count)));
      }
    }
  });

  it('are turned to the byte order of the machine and widened, as the whole file is', async () => {
    const path = join(folder, 'big.npy');
    const bytes = new Uint8Array(12);
    const view = new DataView(bytes.buffer);
    [1, -2, 300, 4, 5, -600].forEach((value, at) => view.setInt16(2 * at, value));
    await writeFile(path, fileWith(headerText("'>i2'", '(3, 2)'), bytes));
    await using file = await openNpy(path);
    expect(file.dtype).toBe('int32');
    expect((await file.readRows(1, 2)).data).toEqual(Int32Array.of(300, 4, 5, -600));
  });

  it('are refused where there are none, and after the file was closed or cut', async () => {
    const path = join(folder, 'some.npy');
    await writeNpy(path, { data: new Float32Array(6), shape: [3, 2] });
    const file = await openNpy(path);
    for (const [first, count] of [
      [2, 2],
      [-1, 1],
      [0.5, 1],
      [0, NaN],
    ] as const) {
      expect(await rejectionCode(file.readRows(first, count))).toBe('NPY_ARGUMENT');
    }
    expect(await rejectionCode(file.readRows(0, 1, { signals: 1 } as never))).toBe('NPY_ARGUMENT');
    const stopped = { signal: AbortSignal.abort(new Error('enough')) };
    await expect(file.readRows(0, 1, stopped)).rejects.toThrow('enough');
    await truncate(path, 140);
    expect(await rejectionCode(file.readRows(0, 3))).toBe('NPY_TRUNCATED');
    await file.close();
    await file.close();
    expect(await rejectionCode(file.readRows(0, 1))).toBe('NPY_IO');
    expect(await rejectionCode(openNpy(join(folder, 'none.npy')))).toBe('NPY_NOT_FOUND');
    expect(await rejectionCode(openNpy(folder))).toBe('NPY_IO');
    expect(await rejectionCode(openNpy(3 as never))).toBe('NPY_ARGUMENT');
    expect(await rejectionCode(openNpy(path))).toBe('NPY_TRUNCATED');
    await writeNpy(path, { data: new Float32Array(1), shape: [] });
    expect(await rejectionCode(openNpy(path))).toBe('NPY_UNSUPPORTED');
    await writeNpy(path, { data: new Float32Array(6), shape: [3, 2], fortranOrder: true });
    await expect(openNpy(path)).rejects.toThrow(/Fortran order.*ascontiguousarray/);
  });
});
