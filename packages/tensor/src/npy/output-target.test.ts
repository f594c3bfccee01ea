import { spawnSync } from 'node:child_process';
import {
  chmod,
  chown,
  lstat,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rejectionCode } from './testing/broken-files.test-support.js';
import { writeFileWhole } from './write-file-whole.js';

const isRoot = process.getuid?.() === 0;
let folder = '';
const at = (name: string): string => join(folder, name);
const write = (path: string): Promise<void> => writeFileWhole(path, [Buffer.from('new')]);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-target-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a file that is replaced', () => {
  it.each([0o600, 0o640, 0o644, 0o666, 0o755])('keeps its permissions, %o', async (mode) => {
    await writeFile(at('a'), 'old');
    await chmod(at('a'), mode);
    await write(at('a'));
    expect((await stat(at('a'))).mode & 0o7777).toBe(mode);
    expect(await readFile(at('a'), 'utf8')).toBe('new');
  });

  it.runIf(isRoot)('keeps its owner and group where root writes', async () => {
    await writeFile(at('a'), 'old');
    await chown(at('a'), 12345, 23456);
    await chmod(at('a'), 0o640);
    await write(at('a'));
    const { uid, gid, mode } = await stat(at('a'));
    expect([uid, gid, mode & 0o7777]).toEqual([12345, 23456, 0o640]);
  });

  it('is never more open while it is written than it was', async () => {
    await writeFile(at('a'), 'old');
    await chmod(at('a'), 0o600);
    const modes: number[] = [];
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('new');
      for (const name of await readdir(folder)) modes.push((await stat(at(name))).mode & 0o777);
    };
    await writeFileWhole(at('a'), pieces());
    expect(modes).toEqual([0o600, 0o600]);
  });

  it.skipIf(isRoot)('is refused where it is read-only', async () => {
    await writeFile(at('a'), 'old');
    await chmod(at('a'), 0o400);
    await expect(write(at('a'))).rejects.toThrow(/it is read-only. Make it writable/);
    expect(await readFile(at('a'), 'utf8')).toBe('old');
  });
});

describe('what is no regular file is refused and stays', () => {
  it('a symbolic link, with where it points, whether that is there or not', async () => {
    await writeFile(at('target'), 'old');
    for (const target of ['target', 'nothing']) {
      await symlink(target, at(`to-${target}`));
      await expect(write(at(`to-${target}`))).rejects.toThrow(
        new RegExp(`symbolic link to '${target}'.*Name the file itself`),
      );
      expect((await lstat(at(`to-${target}`))).isSymbolicLink()).toBe(true);
    }
    expect(await readFile(at('target'), 'utf8')).toBe('old');
    expect((await readdir(folder)).sort()).toEqual(['target', 'to-nothing', 'to-target']);
  });

  it('a pipe, a device, a folder, and names without a file', async () => {
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0);
    await expect(write(at('pipe'))).rejects.toThrow(/it is a pipe \(FIFO\)/);
    expect((await lstat(at('pipe'))).isFIFO()).toBe(true);
    await expect(write('/dev/null')).rejects.toThrow(/it is a device/);
    await expect(write('/dev/stdout')).rejects.toThrow(/symbolic link/);
    await expect(write(folder)).rejects.toThrow(/it is a folder/);
    for (const path of ['', at('new/')]) await expect(write(path)).rejects.toThrow(/names no file/);
    expect(await rejectionCode(write(folder))).toBe('NPY_IO');
  });
});
