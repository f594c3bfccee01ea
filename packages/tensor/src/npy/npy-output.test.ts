import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeNpy, NpyError, npyOutput, readNpy, writeNpy } from './index.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-npy-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** All ways to cut an extent into one part or two. */
const cuts = (extent: number): readonly (readonly [number, number])[][] => [
  [[0, extent]],
  [
    [0, 1],
    [1, extent - 1],
  ],
];

describe('npyOutput', () => {
  it('holds blocks of any axes in any order: the bytes of the file written at once', async () => {
    const shape = [2, 3, 4];
    const data = Float32Array.from({ length: 24 }, (_, at) => at + 1);
    const whole = encodeNpy({ data, shape });
    for (const a of cuts(2))
      for (const b of cuts(3))
        for (const c of cuts(4)) {
          const path = join(folder, 'out.npy');
          const writer = await npyOutput(path).open({ shape, dtype: 'float32' });
          const blocks = a.flatMap((x) => b.flatMap((y) => c.map((z) => [x, y, z] as const)));
          for (const [[i, di], [j, dj], [k, dk]] of blocks.reverse()) {
            const part: number[] = [];
            for (let x = i; x < i + di; x++)
              for (let y = j; y < j + dj; y++)
                for (let z = k; z < k + dk; z++) part.push(data[x * 12 + y * 4 + z]!);
            await writer.write([i, j, k], { data: Float32Array.from(part), shape: [di, dj, dk] });
          }
          await writer.finish();
          expect(new Uint8Array(await readFile(path))).toEqual(whole);
        }
  });

  it('leaves what was there until it is finished, and nothing of a call that ended early', async () => {
    const path = join(folder, 'out.npy');
    await writeNpy(path, { data: Float64Array.of(7), shape: [1] });
    const output = npyOutput(path);
    expect(output.path).toBe(path);
    const writer = await output.open({ shape: [2], dtype: 'float64' });
    await writer.write([0], { data: Float64Array.of(1, 2), shape: [2] });
    expect((await readNpy(path)).data).toEqual(Float64Array.of(7));
    expect(await readdir(folder)).toHaveLength(2);
    await writer.abandon();
    expect((await readNpy(path)).data).toEqual(Float64Array.of(7));
    expect(await readdir(folder)).toHaveLength(1);
    const again = await output.open({ shape: [2], dtype: 'float64' });
    await again.write([0], { data: Float64Array.of(1, 2), shape: [2] });
    await again.finish();
    expect((await readNpy(path)).data).toEqual(Float64Array.of(1, 2));
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('refuses what is no file, no dtype of the format, and blocks that lie elsewhere', async () => {
    expect(() => npyOutput(3 as never)).toThrow(/npyOutput: 3 names no file/);
    const open = npyOutput(folder).open({ shape: [2], dtype: 'float32' });
    await expect(open).rejects.toThrow(/it is a folder/);
    const path = join(folder, 'out.npy');
    await expect(npyOutput(path).open({ shape: [2], dtype: 'bfloat16' })).rejects.toThrow(
      /the result is bfloat16/,
    );
    const signal = AbortSignal.abort(new Error('enough'));
    const ended = npyOutput(path).open({ shape: [2], dtype: 'float32' }, { signal });
    await expect(ended).rejects.toThrow('enough');
    const writer = await npyOutput(path).open({ shape: [2, 3], dtype: 'float32' });
    const write = (start: number[], shape: number[], data: Float32Array | Float64Array) =>
      writer.write(start, { data, shape });
    await expect(write([1, 2], [1, 2], new Float32Array(2))).rejects.toThrow(
      /shape \(1, 2\) at \(1, 2\) does not lie in/,
    );
    await expect(write([0], [1], new Float32Array(1))).rejects.toThrow(NpyError);
    await expect(write([0, 0], [1, 2], new Float32Array(3))).rejects.toThrow(/3/);
    await expect(write([0, 0], [1, 2], new Float64Array(2))).rejects.toThrow(/float32/);
    await writer.abandon();
    expect(await readdir(folder)).toEqual([]);
  });
});
