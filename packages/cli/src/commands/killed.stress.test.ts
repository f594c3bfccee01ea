import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, mercer } from '../testing/run-bin.test-support.js';

/** Rows whose distances take 72 MB: long enough to be met in the middle of the write. */
const ROWS = 3000;

let folder = '';
const at = (name: string): string => join(folder, name);
const ARGS = ['cdist', 'x.npy', 'x.npy', '--out', 'd.npy', '--device', 'cpu'];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-killed-cli-'));
  await writeNpy(at('x.npy'), { data: new Float64Array(2 * ROWS).fill(1), shape: [ROWS, 2] });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs the command until its temporary file is there, and kills it; the signal that ended it and what it left. */
async function killed(signal: NodeJS.Signals): Promise<{ end: unknown; left: string[] }> {
  await writeFile(at('d.npy'), 'old');
  const child = spawn(process.execPath, [BIN, ...ARGS], {
    cwd: folder,
    env: { ...process.env, MERCER_CACHE_DIR: at('store') },
    stdio: 'ignore',
  });
  const end = new Promise((resolve) => {
    child.on('exit', (code, by) => {
      resolve(by ?? code);
    });
  });
  while (child.exitCode === null) {
    if ((await readdir(folder)).some((name) => name.endsWith('.tmp'))) break;
    await setTimeout(1);
  }
  child.kill(signal);
  const by = await end;
  return { end: by, left: (await readdir(folder)).filter((name) => name.endsWith('.tmp')) };
}

describe('mercer, killed while it writes', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s leaves what was there and nothing else',
    async (signal) => {
      for (let round = 0; round < 3; round++) {
        expect(await killed(signal)).toEqual({ end: signal, left: [] });
        expect(await readFile(at('d.npy'), 'utf8')).toBe('old');
      }
    },
    300_000,
  );

  it('by SIGKILL leaves a file that its next run there removes', async () => {
    const { end, left } = await killed('SIGKILL');
    expect([end, left.length]).toEqual(['SIGKILL', 1]);
    expect(await readFile(at('d.npy'), 'utf8')).toBe('old');
    const run = await mercer(['cdist', at('x.npy'), at('x.npy'), '--out', at('e.npy')]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect((await readdir(folder)).filter((name) => name.startsWith('.mercer-'))).toEqual([]);
  }, 300_000);

  it('while it profiles removes its folder of records too', async () => {
    await mkdir(at('tmp'));
    const program = 'process.stdout.write("up"); setTimeout(() => {}, 20_000)';
    const child = spawn(process.execPath, [BIN, 'profile', process.execPath, '-e', program], {
      env: { ...process.env, TMPDIR: at('tmp') },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    await once(child.stdout, 'data');
    expect((await readdir(at('tmp'))).length).toBe(1);
    process.kill(-(child.pid ?? 0), 'SIGTERM'); // with its program, as a terminal does
    await once(child, 'exit');
    expect(child.signalCode).toBe('SIGTERM');
    expect(await readdir(at('tmp'))).toEqual([]);
  }, 120_000);

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'alone by %s while it profiles ends the program too',
    async (signal) => {
      const program = `process.stdout.write('up'); setTimeout(() => {}, 20_000)`;
      const child = spawn(process.execPath, [BIN, 'profile', process.execPath, '-e', program], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      // The program holds the pipe too: it closes when both are gone.
      const closed = Promise.all([once(child.stdout, 'close'), once(child, 'exit')]);
      const started = performance.now();
      child.kill(signal);
      await closed;
      expect(performance.now() - started).toBeLessThan(10_000);
      expect(child.signalCode).toBe(signal);
    },
    120_000,
  );
});
