import { spawn, type ChildProcess } from 'node:child_process';
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeFileWhole } from './write-file-whole.js';

const NPY = new URL('../../dist/npy/index.js', import.meta.url).href;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-killed-'));
  await writeFile(join(folder, 'kept.npy'), 'old');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const temporaries = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('.mercer-'));

/** A process in the middle of a write that ends when `ends` says so, after `before`. */
async function writer({ before = '', ends = 'false' } = {}): Promise<ChildProcess> {
  const program = `
    import { setTimeout } from 'node:timers/promises';
    import { writeFileWhole } from ${JSON.stringify(NPY)};
    let told = false;
    ${before}
    async function* pieces() {
      while (!(${ends})) { yield new Uint8Array(1000); await setTimeout(5); }
    }
    await writeFileWhole('kept.npy', pieces());`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    stdio: 'inherit',
  });
  const others = (await temporaries()).length;
  for (;;) {
    const found = (await temporaries()).length;
    if (found > others || child.exitCode !== null) return child;
    await setTimeout(5);
  }
}

function ended(child: ChildProcess): Promise<string | number | null> {
  if (child.signalCode !== null || child.exitCode !== null) {
    return Promise.resolve(child.signalCode ?? child.exitCode);
  }
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
}

describe('a process that ends in the middle of a write', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s leaves the old file and no other, and ends by that signal',
    async (signal) => {
      for (let round = 0; round < 4; round++) {
        const child = await writer();
        const end = ended(child);
        child.kill(signal);
        expect(await end).toBe(signal);
        expect(await readdir(folder)).toEqual(['kept.npy']);
      }
      expect(await readFile(join(folder, 'kept.npy'), 'utf8')).toBe('old');
    },
  );

  it('by process.exit leaves nothing, and keeps its status', async () => {
    const child = await writer({ before: 'globalThis.setTimeout(() => process.exit(7), 500);' });
    expect(await ended(child)).toBe(7);
    expect(await readdir(folder)).toEqual(['kept.npy']);
  });

  it('goes on where its own listener decides so', async () => {
    const child = await writer({
      before: "process.on('SIGTERM', () => (told = true));",
      ends: 'told',
    });
    const end = ended(child);
    child.kill('SIGTERM');
    expect(await end).toBe(0);
    expect(await readdir(folder)).toEqual(['kept.npy']);
    expect((await lstat(join(folder, 'kept.npy'))).size).toBeGreaterThan(0);
  });

  it('by SIGKILL leaves a file that the next one to write there removes, and no file of a living one', async () => {
    const [dead, living] = [await writer(), await writer()];
    const [first = '', second = ''] = await temporaries();
    const deadOne = first.includes(`-${dead.pid}-`) ? first : second;
    dead.kill('SIGKILL');
    await ended(dead);
    expect((await temporaries()).length).toBe(2);
    await writeFileWhole(join(folder, 'new.npy'), [new Uint8Array(3)]);
    const left = await temporaries();
    expect(left.length).toBe(1);
    expect(left).not.toContain(deadOne);
    living.kill('SIGTERM');
    await ended(living);
    expect((await readdir(folder)).sort()).toEqual(['kept.npy', 'new.npy']);
  });

  it('has its file removed only if it is what it seems: links, folders, strangers and other machines stay', async () => {
    const child = await writer();
    child.kill('SIGKILL');
    await ended(child);
    const [name = ''] = await temporaries();
    const named = (ending: string, machine?: string): string =>
      join(
        folder,
        name
          .replace(/[0-9a-f]{16}\.tmp$/, `${ending.repeat(16)}.tmp`)
          .replace(/-[0-9a-f]{12}-/, machine ?? '$&'),
      );
    await symlink('kept.npy', named('a'));
    await mkdir(named('b'));
    const root = process.getuid?.() === 0;
    await writeFile(named('c'), '');
    if (root) await chown(named('c'), 12345, 12345);
    await writeFile(named('d', '-0123456789ab-'), ''); // another machine, now
    await writeFile(named('e', '-fedcba987654-'), ''); // another machine, two days ago
    const ago = Date.now() / 1000 - 2 * 86400;
    await utimes(named('e', '-fedcba987654-'), ago, ago);
    await writeFile(join(folder, '.mercer-mine.tmp'), '');
    await writeFileWhole(join(folder, 'new.npy'), [new Uint8Array(3)]);
    const left = (await readdir(folder))
      .filter((one) => one.endsWith('.tmp'))
      .map((one) => one.slice(-6, -4));
    expect(left.sort()).toEqual(root ? ['aa', 'bb', 'cc', 'dd', 'ne'] : ['aa', 'bb', 'dd', 'ne']);
    expect(await readFile(join(folder, 'kept.npy'), 'utf8')).toBe('old');
  });
});
