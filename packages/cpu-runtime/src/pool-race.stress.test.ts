import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const { include_dir: headers } = createRequire(import.meta.url)('node-api-headers') as {
  include_dir: string;
};

// The pool's sources without the bindings and the table of built-in functions, driven by test/native/pool-race.cc, which plays Node.
const sources = readdirSync(join(root, 'native'))
  .filter((name) => name.endsWith('.cc') && !/^(bind-.*|addon|builtin)\.cc$/.test(name))
  .map((name) => join(root, 'native', name));

const SANITIZERS = ['thread', 'address,undefined'] as const;
const programs = new Map<string, Promise<string>>();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-race-'));
  // one text: the headers of the standard library are most of what the compiler reads
  const parts = [...sources, join(root, 'test/native/pool-race.cc')];
  writeFileSync(join(folder, 'all.cc'), parts.map((file) => `#include "${file}"\n`).join(''));
  // both are built at once, and run one after the other
  for (const sanitizer of SANITIZERS) {
    const program = build(sanitizer);
    program.catch(() => undefined); // its test tells
    programs.set(sanitizer, program);
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function build(sanitizer: string): Promise<string> {
  const { path, prefix } = await cpu.findCompiler();
  const program = join(folder, `pool-race-${sanitizer}`);
  const folders = [headers, join(root, 'native'), join(root, 'build')];
  const include = [...folders.map((one) => `-I${one}`), '-DNAPI_VERSION=9'];
  const input = join(folder, 'all.cc');
  const args = ['-std=gnu++17', '-O1', '-g1', `-fsanitize=${sanitizer}`, ...include, input];
  await run(path, [...prefix, ...args, '-o', program, '-ldl', '-lpthread']);
  return program;
}

describe('the pool without Node', () => {
  // Where the compiler has no such sanitizer, building fails and so does the test: install libtsan or compiler-rt.
  it.each(SANITIZERS)(
    'runs six environments that come and go, under the %s sanitizer',
    async (sanitizer) => {
      await Promise.allSettled(programs.values());
      const program = (await programs.get(sanitizer)) ?? '';
      const env = {
        ...process.env,
        TSAN_OPTIONS: 'halt_on_error=1',
        UBSAN_OPTIONS: 'halt_on_error=1',
      };
      const { stdout, stderr } = await run(program, [], { env });
      expect(stderr).toBe('');
      expect(stdout).toBe('ok\n');
    },
    240_000,
  );
});
