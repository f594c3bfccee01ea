import {
  appendFileSync,
  chmodSync,
  existsSync,
  readFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cpu } from '../cpu.js';
import { CompileError, CompilerNotFoundError } from '../errors.js';
import { compilerArguments, hostCompileOptions, type CpuLevel } from './compile-options.js';

const plain = 'extern "C" void k(const void*, long, long, void*) {}';
const { level } = cpu.info();

let folder: string;
let temporary: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-test-'));
  temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  vi.stubEnv('TMPDIR', temporary);
  vi.stubEnv('CXX', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** A shell script that plays a compiler: answers the questions as GCC would, then runs `body`. */
function fakeCompiler(body: string, version = 'g++ (Fake) 12.2.0', machine?: string): string {
  const path = join(folder, `fake-${readdirSync(folder).length}`);
  const target = machine ?? (process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu');
  writeFileSync(
    path,
    `#!/bin/sh\ncase "$1" in\n--version) echo "${version}";;\n-dumpmachine) echo ${target};;\n-dumpversion) echo 12;;\n*)\n${body}\n;;\nesac\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

describe('compile', () => {
  it('gives a shared object, the same bytes every time, and leaves nothing behind', async () => {
    const [first, second] = [
      await cpu.compile({ source: plain, level }),
      await cpu.compile({ source: plain, level }),
    ];
    expect(Buffer.from(first.binary.slice(0, 4)).toString('latin1')).toBe('\x7fELF');
    expect(Buffer.compare(first.binary, second.binary)).toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
    const debug = { source: plain, level, options: ['-g'] };
    expect(
      Buffer.compare((await cpu.compile(debug)).binary, (await cpu.compile(debug)).binary),
    ).toBe(0);
  });

  it('reports warnings in the log', async () => {
    const source = `${plain} static int unused() { return 1; }`;
    const { log } = await cpu.compile({ source, level, options: ['-Wall'] });
    expect(log).toContain('unused');
  });

  it.each([
    ['a syntax error', 'extern "C" void k( {'],
    ['an unknown name', 'extern "C" double k() { return nothing; }'],
    ['a missing header', '#include "no/such/header.h"'],
    ['an undefined function', 'extern "C" { void missing(); void k() { missing(); } }'],
  ])('throws CompileError for %s', async (_, source) => {
    const error = await cpu.compile({ source, level }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CompileError);
    expect(error).toMatchObject({ code: 'COMPILE_FAILED', source });
    expect((error as CompileError).log).toMatch(/error|undefined/);
    expect((error as CompileError).log).not.toContain(temporary);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('works in a private folder', async () => {
    const seen = join(folder, 'seen');
    const path = fakeCompiler(
      `stat -c %a . > ${seen}; pwd >> ${seen}; echo "$TMPDIR" >> ${seen}; exit 1`,
    );
    vi.stubEnv('CXX', path);
    await expect(cpu.compile({ source: plain, level })).rejects.toThrow(CompileError);

    const [mode, cwd, tmp] = readFileSync(seen, 'utf8').split('\n');
    expect(mode).toBe('700');
    expect(cwd).toContain(temporary);
    expect(tmp).toBe(cwd);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('ignores what users set for their own builds', async () => {
    const request = { source: `#include <stdint.h>\n${plain}`, level };
    const { binary: wanted } = await cpu.compile(request);
    mkdirSync(join(folder, 'include'));
    writeFileSync(join(folder, 'include', 'stdint.h'), '#error "not this one"');
    for (const name of ['CPATH', 'CPLUS_INCLUDE_PATH']) vi.stubEnv(name, join(folder, 'include'));
    const { binary, log } = await cpu.compile(request);
    expect(log).toBe('');
    expect(Buffer.compare(binary, wanted)).toBe(0);
  });

  it.each([
    ['says nothing', 'exit 3', 'COMPILE_FAILED', /status 3 and said nothing/],
    ['writes nothing', 'exit 0', 'COMPILER_BROKEN', /wrote no file/],
    ['is killed', 'kill -9 $$', 'COMPILER_BROKEN', /SIGKILL/],
    ['closes its input', 'exec <&-; echo "error: no" >&2; exit 1', 'COMPILE_FAILED', /error: no/],
  ])('explains a compiler that %s', async (_, body, code, message) => {
    vi.stubEnv('CXX', fakeCompiler(body));
    const source = `${plain}\n${'// filler\n'.repeat(100_000)}`; // more than a pipe holds
    const error = await cpu.compile({ source, level }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CompileError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) as string });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('refuses to load what a broken compiler wrote', async () => {
    vi.stubEnv('CXX', fakeCompiler('while [ "$1" != "-o" ]; do shift; done; echo garbage > "$2"'));
    const { binary } = await cpu.compile({ source: plain, level });
    expect(() => cpu.loadModule(binary)).toThrow(expect.objectContaining({ code: 'LOAD_FAILED' }));
  });

  it('ends a compiler that hangs, with its children', async () => {
    const pidFile = join(folder, 'pid');
    vi.stubEnv('CXX', fakeCompiler(`sleep 1000 & echo $! > ${pidFile}; wait`));
    const start = performance.now();
    await expect(cpu.compile({ source: plain, level, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'COMPILE_TIMEOUT',
    });
    expect(performance.now() - start).toBeLessThan(10_000);

    const pid = readFileSync(pidFile, 'utf8').trim();
    const gone = (): boolean =>
      !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    for (let i = 0; i < 100 && !gone(); i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(gone()).toBe(true);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('takes a batch in turns, without warnings', async () => {
    const most = join(folder, 'most');
    // Each run notes how many are at work beside it.
    vi.stubEnv(
      'CXX',
      fakeCompiler(
        `: > ../busy-$$; ls .. | grep -c busy >> ${most}; sleep 0.05; rm ../busy-$$; exit 1`,
      ),
    );
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const results = await Promise.allSettled(
      Array.from({ length: 24 }, () => cpu.compile({ source: plain, level })),
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.removeListener('warning', listen);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    const counts = readFileSync(most, 'utf8').trim().split('\n').map(Number);
    expect(counts).toHaveLength(24);
    expect(Math.max(...counts)).toBeLessThanOrEqual(availableParallelism());
    expect(warnings).toEqual([]);
  });

  it('lets what somebody waits for go before what is compiled behind', async () => {
    const cores = availableParallelism();
    const order = join(folder, 'order');
    const script = `read -r _ name; echo $name >> ${order}; while [ ! -e ${folder}/go-$name ]; do sleep 0.01; done; exit 1`;
    vi.stubEnv('CXX', fakeCompiler(script));
    await cpu.findCompiler();
    const started = (): string[] =>
      existsSync(order) ? readFileSync(order, 'utf8').trim().split('\n') : [];
    const compile = (name: string, behind?: () => boolean): Promise<unknown> =>
      cpu
        .compile({ source: `// ${name}\n`, level, ...(behind && { behind }) })
        .catch(() => undefined);
    let isBehind = true;
    const all = [
      ...Array.from({ length: cores }, () => compile('first')),
      ...Array.from({ length: cores }, () => compile('behind', () => true)),
      compile('wanted-later', () => isBehind),
      compile('waited-for'),
    ];
    const untilStarted = (count: number): Promise<void> =>
      vi.waitFor(
        () => {
          expect(started()).toHaveLength(count);
        },
        { timeout: 20_000 },
      );
    await untilStarted(cores);
    isBehind = false;
    writeFileSync(join(folder, 'go-first'), '');
    await untilStarted(2 * cores);
    const wanted = ['wanted-later', 'waited-for'].slice(0, cores);
    expect(started().slice(cores)).toEqual(expect.arrayContaining(wanted));
    for (const name of ['behind', 'wanted-later', 'waited-for']) {
      writeFileSync(join(folder, `go-${name}`), '');
    }
    await Promise.all(all);
  });

  it('stops when its signal aborts', async () => {
    vi.stubEnv('CXX', fakeCompiler('sleep 1000'));
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => {
      controller.abort(reason);
    }, 100);
    await expect(cpu.compile({ source: plain, level, signal: controller.signal })).rejects.toBe(
      reason,
    );
    await expect(cpu.compile({ source: plain, level, signal: controller.signal })).rejects.toBe(
      reason,
    );
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.each([
    { source: plain, level: 'native' as CpuLevel },
    { source: plain, level: 'toString' as CpuLevel },
    { source: 5 as never, level },
    { source: 'a\0b', level },
    ...[
      '-ffast-math',
      '-Ofast',
      '-march=native',
      '-funsafe-math-optimizations',
      '-include x',
      '-I.',
      '@file',
      '-o',
      '-DX=1 -ffast-math',
      '-fplugin=x',
    ].map((option) => ({ source: plain, level, options: [option] })),
  ])('refuses %j', async (request) => {
    await expect(cpu.compile(request)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('compilerArguments', () => {
  it('has the promised flags for every level, and none that changes numbers', () => {
    for (const one of ['x86-64-v2', 'x86-64-v3', 'x86-64-v4', 'arm64'] as const) {
      const flags = compilerArguments(one, []);
      expect(flags).toEqual(
        expect.arrayContaining(['-O3', '-fno-math-errno', '-fno-trapping-math', '-nostartfiles']),
      );
      expect(flags.filter((flag) => flag.startsWith('-march='))).toEqual([
        one === 'arm64' ? '-march=armv8-a' : `-march=${one}`,
      ]);
      expect(flags.join(' ')).not.toMatch(
        /fast-math|Ofast|native|unsafe|finite-math|associative|reciprocal/,
      );
      expect(flags.includes('-mprefer-vector-width=512')).toBe(one === 'x86-64-v4');
    }
  });
});

describe('hostCompileOptions', () => {
  it('maps structured options to flags', () => {
    expect(hostCompileOptions([])).toEqual([]);
    expect(hostCompileOptions([{ name: 'fmad', value: false }])).toEqual(['-ffp-contract=off']);
    expect(
      hostCompileOptions([
        { name: 'fmad', value: true },
        { name: 'lineinfo', value: true },
        { name: 'maxrregcount', value: 64 },
        { name: 'ftz', value: false },
      ]),
    ).toEqual(['-ffp-contract=fast', '-g1']);
  });

  it('refuses flush-to-zero and unknown names', () => {
    for (const name of ['ftz', 'fast-math', '']) {
      expect(() => hostCompileOptions([{ name, value: true }])).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
  });
});

describe('findCompiler', () => {
  it('finds one here, with a stable identity', async () => {
    const info = await cpu.findCompiler();
    expect(info.path.startsWith('/')).toBe(true);
    expect(['gcc', 'clang']).toContain(info.kind);
    expect((await cpu.findCompiler()).identity).toBe(info.identity);
    expect(cpu.report().compiler).toMatchObject({ path: info.path, id: info.identity });
  });

  it('takes CXX first, also with arguments in front', async () => {
    const path = fakeCompiler('exit 1');
    vi.stubEnv('CXX', path);
    expect(await cpu.findCompiler()).toMatchObject({ path, prefix: [] });
    vi.stubEnv('CXX', undefined);
    const found = await cpu.findCompiler();
    vi.stubEnv('CXX', `env ${found.path}`);
    const wrapped = await cpu.findCompiler();
    expect(wrapped.prefix).toEqual([found.path]);
    await cpu.compile({ source: plain, level, compiler: wrapped });
  });

  it('changes identity when the program does', async () => {
    const path = fakeCompiler('exit 1');
    vi.stubEnv('CXX', path);
    const before = (await cpu.findCompiler()).identity;
    appendFileSync(path, '# changed\n');
    expect((await cpu.findCompiler()).identity).not.toBe(before);
    expect(statSync(path).mode & 0o111).not.toBe(0);
  });

  it('lists every attempt and the remedy when there is none', async () => {
    vi.stubEnv('PATH', '');
    const error = await cpu.findCompiler().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CompilerNotFoundError);
    const { attempts, message, remedy } = error as CompilerNotFoundError;
    expect(attempts.map(({ path }) => path)).toEqual(['CXX', 'c++', 'g++', 'clang++']);
    for (const word of ['apt-get', 'dnf', 'pacman', 'apk', 'zypper'])
      expect(remedy).toContain(word);
    expect(message).toContain(remedy);
    await expect(cpu.compile({ source: plain, level })).rejects.toBeInstanceOf(
      CompilerNotFoundError,
    );
    const report = cpu.report();
    expect(report.compiler).toBeUndefined();
    expect(report.attempts).toEqual(attempts);
    expect(report.cores).toBeGreaterThan(0);
  });

  it.each([
    ['too old', 'exit 1', 'g++ (Old) 9.4.0', undefined, /too old/],
    [
      'for another machine',
      'exit 1',
      'g++ (X) 12.2.0',
      'riscv64-linux-gnu',
      /compiles for riscv64/,
    ],
    ['something else', 'exit 1', 'tcc version 0.9.27', undefined, /neither GCC nor Clang/],
  ])('passes over a compiler that is %s', async (_, body, version, machine, why) => {
    const path = fakeCompiler(body, version, machine);
    vi.stubEnv('CXX', path);
    vi.stubEnv('PATH', '/nonexistent');
    // The script needs no PATH: it uses shell built-ins only.
    const error = await cpu.findCompiler().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CompilerNotFoundError);
    expect((error as CompilerNotFoundError).attempts[0]?.error).toMatch(why);
    expect(cpu.report().attempts[0]?.error).toMatch(why);
  });

  it('passes over broken files, and goes on to the next', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'c++'), 'not a program');
    chmodSync(join(bin, 'c++'), 0o755);
    symlinkSync('/nonexistent', join(bin, 'g++'));
    symlinkSync(fakeCompiler('exit 1', 'clang version 15.0.6'), join(bin, 'clang++'));
    vi.stubEnv('PATH', bin);
    expect(await cpu.findCompiler()).toMatchObject({ kind: 'clang', path: join(bin, 'clang++') });
    vi.stubEnv('CXX', join(folder, 'nothing'));
    expect(await cpu.findCompiler()).toMatchObject({ path: join(bin, 'clang++') });
    expect(cpu.report().attempts.map(({ error }) => error)).toEqual([
      'no such executable file',
      expect.stringMatching(/./),
      'not on PATH',
    ]);
  });
});
