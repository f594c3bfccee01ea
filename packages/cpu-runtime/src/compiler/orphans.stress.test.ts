import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cpu } from '../cpu.js';

/* What a compile leaves behind when its process or thread ends in the middle of it: nothing. */

const script = join(import.meta.dirname, '..', '..', 'test', 'compile-until-killed.mjs');
let folder: string;
let temporary: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-test-'));
  temporary = join(folder, 'tmp');
  mkdirSync(temporary);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Processes that work below the temporary folder: the compiler, what it started, and their guard. */
function atWork(): { readonly pid: number; readonly name: string }[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, 'latin1');
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const [name = '', state] = stat.slice(stat.indexOf('(') + 1).split(/\) /);
      const here = environment.includes(`TMPDIR=${temporary}/mercer-cpu-`);
      return here && state?.startsWith('Z') !== true ? [{ pid: Number(entry), name }] : [];
    } catch {
      return []; // ended meanwhile
    }
  });
}

async function until(holds: () => boolean, withinMs = 20_000): Promise<void> {
  for (const end = performance.now() + withinMs; !holds() && performance.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const { pid } of atWork()) process.kill(pid, 'SIGKILL'); // what a failed test leaves
});

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, TMPDIR: temporary, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

/** A compiler that starts another process, and neither ends, nor heeds what it is asked. */
function stubbornCompiler(): string {
  const path = join(folder, 'stubborn');
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  writeFileSync(
    path,
    `#!/bin/sh
case "$1" in
--version) echo "g++ (Fake) 12.2.0";;
-dumpmachine) echo ${machine};;
-dumpversion) echo 12;;
*) trap '' TERM INT HUP; (while :; do sleep 0.2; : > late; done) & while :; do sleep 0.2; done;;
esac
`,
  );
  chmodSync(path, 0o755);
  return path;
}

const works = {
  'the compiler of this machine': {
    env: (): Record<string, string> => ({}),
    busy: (): boolean => atWork().some(({ name }) => /^(cc1plus|clang)/.test(name)),
  },
  'one that heeds no signal': {
    env: () => ({ CXX: stubbornCompiler() }),
    busy: (): boolean => atWork().filter(({ name }) => name === 'stubborn').length >= 2,
  },
};

describe.each(Object.entries(works))('%s', (_, { env, busy }) => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'ends with a process that %s ends, and its folder with it',
    async (signal) => {
      const child = start([], env());
      await until(busy);
      expect(busy()).toBe(true);
      expect(readdirSync(temporary)).toHaveLength(1);
      child.kill(signal);
      await until(() => atWork().length === 0 && readdirSync(temporary).length === 0);
      expect({ left: atWork(), folders: readdirSync(temporary) }).toEqual({
        left: [],
        folders: [],
      });
    },
  );

  it('ends with a worker thread that is terminated, and its folder with it', async () => {
    const child = start(['worker'], env());
    await until(busy);
    expect(busy()).toBe(true);
    child.stdin?.write('end it\n');
    await until(() => atWork().length === 0 && readdirSync(temporary).length === 0);
    expect({ left: atWork(), folders: readdirSync(temporary) }).toEqual({ left: [], folders: [] });
    expect(child.exitCode).toBe(null); // the process lives on
  });
});

describe('the first compile of a process', () => {
  it('removes folders of this user whose process is gone, and nothing else', async () => {
    // a process is killed together with the guard of its compiler
    const child = start([]);
    await until(works['the compiler of this machine'].busy);
    const [left = ''] = readdirSync(temporary);
    for (const { pid } of atWork()) process.kill(pid, 'SIGSTOP');
    child.kill('SIGKILL');
    for (const { pid } of atWork()) process.kill(pid, 'SIGKILL');
    await until(() => atWork().length === 0);
    expect(readdirSync(temporary)).toEqual([left]);

    const [, machine, begun] = /^mercer-cpu-(\w+)-\d+-(\d+)-/.exec(left) ?? [];
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const mine = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    const make = (name: string): string => {
      mkdirSync(join(temporary, name));
      writeFileSync(join(temporary, name, 'kernel.so'), 'x');
      return name;
    };
    const kept = [
      make(`mercer-cpu-${machine}-${process.pid}-${mine}-aaaaaa`), // of this process
      make(`mercer-cpu-000000000000-1-1-aaaaaa`), // of another machine or container
      make('mercer-cpu-abcdef'), // of a form that says nothing
      make('mercer-cpu'),
      make('other'),
    ];
    const old = make('mercer-cpu-000000000000-1-1-bbbbbb');
    utimesSync(join(temporary, old), 0, 0);
    // a number that another process has now
    const reused = make(`mercer-cpu-${machine}-${process.pid}-1-aaaaaa`);
    const link = `mercer-cpu-${machine}-4194303-${begun}-aaaaaa`;
    symlinkSync(join(temporary, 'other'), join(temporary, link));

    vi.stubEnv('TMPDIR', temporary);
    const source = 'extern "C" void k(const void*, long, long, void*) {}';
    await cpu.compile({ source, level: cpu.info().level });
    expect(readdirSync(temporary).sort()).toEqual([...kept, link].sort());
    expect(existsSync(join(temporary, 'other', 'kernel.so'))).toBe(true);
    expect([left, old, reused].filter((name) => existsSync(join(temporary, name)))).toEqual([]);
  });
});
