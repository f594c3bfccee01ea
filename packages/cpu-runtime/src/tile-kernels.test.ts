import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const levels = join(root, 'native/linalg/levels');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-tiles-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function object(source: string, flags: readonly string[]): Promise<string> {
  const { path, prefix } = await cpu.findCompiler();
  const output = join(folder, `${basename(source, '.cc')}.o`);
  const args = ['-std=gnu++17', ...flags, `-I${join(root, 'native')}`, '-c', source, '-o', output];
  await run(path, [...prefix, ...args]);
  return output;
}

describe('tile kernels', () => {
  it(
    'of every instruction set that this processor has agree with plain loops',
    { timeout: 120_000 },
    async () => {
      // Files of another machine's instruction sets compile to nothing.
      const objects = readdirSync(levels)
        .filter((name) => name.endsWith('.cc'))
        .map((name) => {
          const march =
            name.startsWith('x86') && process.arch === 'x64'
              ? [`-march=${basename(name, '.cc')}`]
              : [];
          return object(join(levels, name), [
            '-O3',
            '-fno-math-errno',
            '-fno-trapping-math',
            '-Wno-psabi',
            ...march,
          ]);
        });
      objects.push(object(join(root, 'test/native/tile-kernels.cc'), ['-O1']));
      const program = join(folder, 'tile-kernels');
      const { path, prefix } = await cpu.findCompiler();
      await run(path, [...prefix, ...(await Promise.all(objects)), '-o', program]);
      const { stdout } = await run(program);
      expect(stdout.trim().split('\n').at(-1)).toBe(cpu.info().level);
    },
  );
});
