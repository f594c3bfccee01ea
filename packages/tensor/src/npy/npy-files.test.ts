import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tensor } from '../index.js';
import { encodeNpy } from './npy-codec.js';
import { encodeNpyHeader } from './npy-header.js';
import { readNpy } from './read-npy.js';
import { readNpz } from './read-npz.js';
import { readSafetensors } from '../safetensors/read-safetensors.js';
import { writeSafetensors } from '../safetensors/write-safetensors.js';
import { randomData, rawBytes } from './testing/arrays.test-support.js';
import { fileWith, headerText, rejectionCode } from './testing/broken-files.test-support.js';
import { writeFileWhole } from './write-file-whole.js';
import { writeNpy } from './write-npy.js';
import { writeNpz } from './write-npz.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-npy-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('readNpy and writeNpy', () => {
  it('round-trip a file by path and by URL and leave nothing else behind', async () => {
    const path = join(folder, 'a.npy');
    const data = randomData('float64', 60, 1);
    await writeNpy(path, { data, shape: [3, 4, 5], fortranOrder: true });
    for (const source of [path, pathToFileURL(path), new Uint8Array(await readFile(path))]) {
      const array = await readNpy(source);
      expect(array).toMatchObject({ dtype: 'float64', shape: [3, 4, 5], fortranOrder: true });
      expect(rawBytes(array.data).equals(rawBytes(data))).toBe(true);
    }
    expect(await readdir(folder)).toEqual(['a.npy']);
  });

  it('write the same bytes as encodeNpy, also beyond one piece', async () => {
    const data = randomData('int32', 5_000_000, 2);
    await writeNpy(join(folder, 'a.npy'), { data, shape: [5_000_000] }, { byteOrder: 'big' });
    const bytes = await readFile(join(folder, 'a.npy'));
    expect(bytes.equals(encodeNpy({ data, shape: [5_000_000] }, { byteOrder: 'big' }))).toBe(true);
  });

  it('read a sparse file of 2.2 GB in pieces into one buffer', async () => {
    const path = join(folder, 'large.npy');
    const size = 2_200_000_000;
    const header = encodeNpyHeader('uint8', [size], false);
    await writeFile(path, header);
    await truncate(path, header.length + size);
    const file = await open(path, 'r+');
    await file.write(Uint8Array.of(42), 0, 1, header.length + size - 1);
    await file.close();
    const { data } = await readNpy(path);
    expect([data.length, data[0], data[size - 1]]).toEqual([size, 0, 42]);
  }, 60_000);

  it('refuse missing files, folders and short files with the path in the message', async () => {
    await expect(readNpy(join(folder, 'no.npy'))).rejects.toThrow(
      /Cannot read '.*no\.npy': there is no such file/,
    );
    expect(await rejectionCode(readNpy(join(folder, 'no.npy')))).toBe('NPY_NOT_FOUND');
    expect(await rejectionCode(readNpy(folder))).toBe('NPY_IO');
    await writeFile(
      join(folder, 'short.npy'),
      fileWith(headerText("'<f4'", '(3,)'), new Uint8Array(8)),
    );
    await expect(readNpy(join(folder, 'short.npy'))).rejects.toThrow(
      /8 follow the header.*short\.npy/s,
    );
    expect(spawnSync('mkfifo', [join(folder, 'pipe.npy')]).status).toBe(0);
    await expect(readNpy(join(folder, 'pipe.npy'))).rejects.toThrow(/it is not a regular file/);
    await writeFile(join(folder, 'empty.npy'), '');
    expect(await rejectionCode(readNpy(join(folder, 'empty.npy')))).toBe('NPY_TRUNCATED');
  });

  it('refuse a claim of a terabyte without allocating it', async () => {
    const path = join(folder, 'claim.npy');
    await writeFile(path, fileWith(headerText("'<f8'", `(${2n ** 37n},)`), new Uint8Array(64)));
    const before = process.memoryUsage().arrayBuffers;
    expect(await rejectionCode(readNpy(path))).toBe('NPY_TRUNCATED');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  });
});

describe('a write that fails leaves the old file and no other', () => {
  it('when the pieces stop half-way', async () => {
    const path = join(folder, 'kept.npy');
    await writeFile(path, 'old');
    const failing = (function* () {
      yield new Uint8Array(1000);
      throw new Error('the source broke');
    })();
    expect(await rejectionCode(writeFileWhole(path, failing))).toBe('NPY_IO');
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['kept.npy']);
  });

  it('when the array is wrong', async () => {
    const path = join(folder, 'kept.npy');
    const wrong = writeNpy(path, { data: new Float32Array(3), shape: [2] });
    expect(await rejectionCode(wrong)).toBe('NPY_ARGUMENT');
    expect(await readdir(folder)).toEqual([]);
  });

  it('when the target is a folder', async () => {
    const path = join(folder, 'folder.npy');
    await mkdir(path);
    const write = writeNpy(path, { data: new Float32Array(1), shape: [1] });
    expect(await rejectionCode(write)).toBe('NPY_IO');
    expect(await readdir(folder)).toEqual(['folder.npy']);
  });

  it('when the folder is not there', async () => {
    const write = writeNpy(join(folder, 'no', 'a.npy'), { data: new Float32Array(1), shape: [1] });
    expect(await rejectionCode(write)).toBe('NPY_NOT_FOUND');
  });

  it('when the folder takes no files', async () => {
    // Permissions do not bind root; the kernel's own file system refuses everybody.
    const closed = process.getuid?.() === 0 ? '/sys/kernel' : folder;
    await chmod(folder, 0o500);
    const write = writeNpy(join(closed, 'a.npy'), { data: new Float32Array(1), shape: [1] });
    expect(await rejectionCode(write)).toBe('NPY_IO');
    await chmod(folder, 0o700);
  });

  it('and one that succeeds replaces the old file and keeps the usual permissions', async () => {
    const path = join(folder, 'a.npy');
    const usual = join(folder, 'usual');
    await writeFile(path, 'old');
    await writeFile(usual, '');
    await writeNpy(path, { data: new Float32Array(1), shape: [1] });
    expect((await stat(path)).mode).toBe((await stat(usual)).mode);
    expect((await readNpy(path)).shape).toEqual([1]);
  });
});

describe('tensors', () => {
  const cpu = { device: 'cpu' } as const;

  it('are written as they are shaped: views, truths, halves, and what is not computed yet', async () => {
    const x = await tensor([[1, 2, 3], [4, 5, 6]], cpu); // prettier-ignore
    const path = join(folder, 'x.npy');
    await writeNpy(path, x.transpose());
    expect(await (await tensor(await readNpy(path), cpu)).toNested()).toEqual([[1, 4], [2, 5], [3, 6]]); // prettier-ignore
    await writeNpy(path, x.gt(2).slice(0));
    const truths = await readNpy(path);
    expect(truths).toMatchObject({ dtype: 'bool', shape: [3] });
    expect([...truths.data]).toEqual([0, 0, 1]);
    const half = await x.cast('float16');
    await writeNpz(join(folder, 'x.npz'), { half, sum: x.sum(), host: { data: Int32Array.of(7), shape: [] } }); // prettier-ignore
    const archive = await readNpz(join(folder, 'x.npz'));
    expect(archive.get('half')).toMatchObject({ dtype: 'float16', shape: [2, 3] });
    expect([...(archive.get('sum')?.data ?? [])]).toEqual([21]);
    expect([...(archive.get('host')?.data ?? [])]).toEqual([7]);
    const brain = await x.cast('bfloat16');
    await writeSafetensors(join(folder, 'x.safetensors'), { brain });
    const { arrays } = await readSafetensors(join(folder, 'x.safetensors'));
    expect(arrays.get('brain')).toMatchObject({ dtype: 'bfloat16', shape: [2, 3] });
  });

  it('of dtypes that numpy has not are refused before a file is there', async () => {
    const brain = await tensor([1], { dtype: 'bfloat16', ...cpu });
    const path = join(folder, 'x.npy');
    expect(await rejectionCode(writeNpy(path, brain))).toBe('NPY_ARGUMENT');
    expect(await readdir(folder)).toEqual([]);
  });
});
