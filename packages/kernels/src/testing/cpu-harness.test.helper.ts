import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CpuLevel } from '../emit/cpu-vector.js';

/**
 * Loads a kernel and runs it once, in chunks of tasks given out of order. Every buffer ends at a
 * page that may not be touched; scratch is filled with NaN.
 */
const HARNESS = `
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>
static void read_all(void* to, size_t bytes) {
  if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) abort();
}
static char* guarded(size_t bytes, size_t align) {
  const size_t page = 4096, room = (bytes + page - 1) / page * page + page;
  char* start = (char*)mmap(0, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(start + room, page, PROT_NONE);
  return start + (room - bytes) / align * align;
}
int main(int, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) { fprintf(stderr, "%s", dlerror()); return 2; }
  auto run = (void (*)(const void*, int64_t, int64_t, void*))dlsym(library, argv[2]);
  int64_t head[8];
  read_all(head, sizeof head);
  const int64_t tasks = head[0], chunk = head[1], scratch_bytes = head[2], params = head[3], element = head[7];
  std::vector<int64_t> args(params / 8 + 1);
  read_all(args.data(), params);
  char* buffers[3];
  for (int i = 0; i < 3; i++) {
    buffers[i] = guarded(head[4 + i], element);
    read_all(buffers[i], head[4 + i]);
    args[i] = (int64_t)buffers[i];
  }
  char* scratch = guarded((scratch_bytes + 63) / 64 * 64, 64);
  memset(scratch, 0xff, scratch_bytes);
  const int64_t chunks = (tasks + chunk - 1) / chunk;
  for (int64_t i = chunks - 1; i >= 0; i--) {
    const int64_t begin = i * chunk, end = begin + chunk < tasks ? begin + chunk : tasks;
    run(args.data(), begin, end, scratch);
  }
  fwrite(buffers[2], 1, head[6], stdout);
  return 0;
}
`;

let folder: string | undefined;
let count = 0;

/** A private folder for everything that is compiled, removed when the process ends. */
function workFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'cpu-kernels-'));
    folder = made;
    process.once('exit', () => {
      rmSync(made, { recursive: true, force: true });
    });
  }
  return folder;
}

/** The compilers of this machine among the common names. */
export function compilers(): string[] {
  return ['g++', 'clang++'].filter((name) => spawnSync(name, ['--version']).status === 0);
}

/** Every level with the first compiler, and the highest level with the others. */
export function machines(): (readonly [compiler: string, level: CpuLevel])[] {
  const [first, ...others] = compilers();
  const levels = runnableLevels();
  const highest = levels.slice(-1);
  return [
    ...levels.map((level) => [first ?? 'c++', level] as const),
    ...others.flatMap((compiler) => highest.map((level) => [compiler, level] as const)),
  ];
}

/** The levels that this machine can run. */
export function runnableLevels(): CpuLevel[] {
  if (process.arch === 'arm64') return ['arm64'];
  const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? '';
  const has = (...names: string[]): boolean =>
    names.every((name) => ` ${flags} `.includes(` ${name} `));
  const levels: CpuLevel[] = ['x86-64-v2'];
  if (has('avx2', 'fma', 'bmi2', 'f16c')) levels.push('x86-64-v3');
  if (has('avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl')) levels.push('x86-64-v4');
  return levels;
}

const FLAGS = ['-O3', '-fno-math-errno', '-fno-trapping-math', '-Wall', '-Wextra', '-Werror'];

/** Compiles host C++ with the flags of kernels; gives the path. */
export function compile(compiler: string, source: string, flags: readonly string[]): string {
  const path = join(workFolder(), `u${String(count++)}`);
  writeFileSync(`${path}.cpp`, source);
  execFileSync(compiler, [...FLAGS, ...flags, `${path}.cpp`, '-o', path, '-ldl'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return path;
}

/** Compiles a kernel for a level into a shared object; warnings are errors. */
export function compileKernel(compiler: string, source: string, level: CpuLevel): string {
  const march = level === 'arm64' ? 'armv8-a' : level;
  const key = `${compiler} ${level} ${source}`;
  const known = libraries.get(key);
  if (known !== undefined) return known;
  const library = compile(compiler, source, ['-shared', '-fPIC', `-march=${march}`]);
  libraries.set(key, library);
  return library;
}

const libraries = new Map<string, string>();

let harness: string | undefined;

/** What one run needs; `params` starts with three pointers, which the harness fills in. */
export interface HarnessRun {
  readonly library: string;
  readonly entry: string;
  readonly params: Uint8Array;
  readonly a: Uint8Array;
  readonly b: Uint8Array;
  /** Content of the output before the run. */
  readonly out: Uint8Array;
  readonly elementBytes: number;
  readonly tasks: number;
  readonly chunk: number;
  readonly scratchBytes: number;
}

/** Runs a kernel in a process of its own and gives the output's bytes. */
export function runKernel(run: HarnessRun): Uint8Array {
  harness ??= compile(compilers()[0] ?? 'c++', HARNESS, ['-std=c++17']);
  const head = new BigInt64Array(
    [
      run.tasks,
      run.chunk,
      run.scratchBytes,
      run.params.byteLength,
      run.a.byteLength,
      run.b.byteLength,
      run.out.byteLength,
      run.elementBytes,
    ].map(BigInt),
  );
  const { status, signal, stdout, stderr } = spawnSync(harness, [run.library, run.entry], {
    input: Buffer.concat([Buffer.from(head.buffer), run.params, run.a, run.b, run.out]),
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    throw new Error(`the kernel ended with ${String(signal ?? status)}: ${stderr.toString()}`);
  }
  return Uint8Array.from(stdout);
}
