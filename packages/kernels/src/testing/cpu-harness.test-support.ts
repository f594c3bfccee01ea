import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CpuLimits } from '../device-limits.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import { keptProgram } from './kept-program.test-support.js';
import { runProgram, workFolder, type Ended } from './run-program.test-support.js';

/**
 * Loads a kernel and runs it once with any number of buffers, in chunks of tasks given out of order.
 * Every buffer ends at a page that may not be touched; scratch is filled with NaN.
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
  int64_t head[5];
  read_all(head, sizeof head);
  const int64_t tasks = head[0], chunk = head[1], scratch_bytes = head[2], buffers = head[4];
  std::vector<int64_t> args(head[3] / 8 + 1), places(4 * buffers + 1);
  read_all(args.data(), head[3]);
  // of each buffer: where its address goes, bytes, alignment, whether it is written
  read_all(places.data(), 32 * buffers);
  std::vector<char*> memory;
  for (int64_t i = 0; i < buffers; i++) {
    const int64_t *place = &places[4 * i];
    memory.push_back(guarded(place[1], place[2]));
    read_all(memory[i], place[1]);
    args[place[0] / 8] = (int64_t)memory[i];
  }
  char* scratch = guarded((scratch_bytes + 63) / 64 * 64, 64);
  memset(scratch, 0xff, scratch_bytes);
  for (int64_t i = (tasks + chunk - 1) / chunk - 1; i >= 0; i--) {
    const int64_t begin = i * chunk, end = begin + chunk < tasks ? begin + chunk : tasks;
    run(args.data(), begin, end, scratch);
  }
  for (int64_t i = 0; i < buffers; i++)
    if (places[4 * i + 3]) fwrite(memory[i], 1, places[4 * i + 1], stdout);
  return 0;
}
`;

let count = 0;

let found: readonly string[] | undefined;

/** The compilers of this machine among the common names. */
export function compilers(): readonly string[] {
  found ??= ['g++', 'clang++'].filter((name) => spawnSync(name, ['--version']).status === 0);
  return found;
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
  if (process.env['MERCER_CPU'] === 'wasm') return ['wasm128'];
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

/** Runs a compiler with the flags of kernels: the path of what it wrote, how it ended, what it said. */
function runCompiler(
  compiler: string,
  source: string,
  flags: readonly string[],
): { path: string; status: Ended['status']; log: string } {
  const path = join(workFolder(), `u${count++}`);
  writeFileSync(`${path}.cpp`, source);
  const args = [...FLAGS, ...flags, `${path}.cpp`, '-o', path];
  const { status, stderr } = runProgram(compiler, args);
  return { path, status, log: stderr };
}

/** Compiles host C++ with the flags of kernels; gives the path. */
export function compile(compiler: string, source: string, flags: readonly string[]): string {
  const { path, status, log } = runCompiler(compiler, source, flags);
  if (status !== 0) throw new Error(`${compiler} ended with ${status}: ${log}`);
  return path;
}

/** What a kernel calls of libc and libm the harness has: not linking them takes a third off the time of a short kernel. */
const kernelFlags = (level: CpuLevel): string[] => [
  '-pipe',
  '-nostdlib',
  '-shared',
  '-fPIC',
  `-march=${level === 'arm64' ? 'armv8-a' : level}`,
];

/** How a compiler ends on a kernel for a level, and its warnings, which are errors. */
export function compilerVerdict(
  compiler: string,
  source: string,
  level: CpuLevel,
): { status: Ended['status']; log: string } {
  const { status, log } = runCompiler(compiler, source, kernelFlags(level));
  return { status, log };
}

/** Whether host kernels run as programs of the interpreter, as MERCER_CPU says. */
const INTERPRETED = ['interpreted', 'wasm'].includes(process.env['MERCER_CPU'] ?? '');
const INTERPRETED_PREFIX = 'interpreted for ';

/** What plans of tests know of a CPU: also that it interprets, where it does. */
export const cpuTestLimits = (level: CpuLevel): CpuLimits => ({
  ...({ kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const),
  ...(INTERPRETED && ({ interpreted: true } as const)),
});

/** The level of what {@link compileKernel} gave where kernels are interpreted. */
export function interpretedLevel(library: string): CpuLevel | undefined {
  return library.startsWith(INTERPRETED_PREFIX)
    ? (library.slice(INTERPRETED_PREFIX.length) as CpuLevel)
    : undefined;
}

/**
 * What a kernel of the tests is compiled with beside the flags of users' kernels, whose -O3 most of the time would go into.
 * One short text in four has it and one in sixteen of the long ones, which take seconds with it, chosen by their content so that every family
 * and kind of case has some, and all with MERCER_TEST_FULL=1. The others are optimized less, in about half of the time. GCC fuses products and sums among its expensive
 * optimizations alone, so that these are on; Clang fuses them anyway, and would warn of the name. `cpu-harness.test.ts` holds that they fuse.
 */
function lighterFlags(key: string, optimized: boolean): readonly string[] {
  if (!optimized) return ['-O0'];
  if (process.env['MERCER_TEST_FULL'] === '1') return [];
  const oneIn = key.length > 8000 ? 16 : 4;
  return (createHash('sha256').update(key).digest()[0] ?? 0) % oneIn === 0 ? [] : LIGHTER;
}

const LIGHTER = ['-O1', '-fexpensive-optimizations', '-Wno-ignored-optimization-argument'] as const;

/**
 * Compiles a kernel for a level into a shared object; warnings are errors. Nothing where kernels are interpreted. Without
 * `optimized` it is compiled in a fifth of the time.
 */
export function compileKernel(
  compiler: string,
  source: string,
  level: CpuLevel,
  { optimized = true } = {},
): string {
  if (INTERPRETED) return INTERPRETED_PREFIX + level;
  const key = `${compiler} ${level} ${optimized} ${source}`;
  const known = libraries.get(key);
  if (known !== undefined) return known;
  const flags = [...kernelFlags(level), ...lighterFlags(key, optimized)];
  const library = compile(compiler, source, flags);
  libraries.set(key, library);
  return library;
}

const libraries = new Map<string, string>();

let harness: string | undefined;

/** Memory of a launch. */
export type HostMemory =
  Float32Array | Float64Array | Int32Array | Uint8Array | Uint16Array | BigInt64Array;

/** A buffer of a run, whose address the harness puts into the parameters. */
export interface HarnessBuffer {
  /** Offset of the pointer in the parameters. */
  readonly at: number;
  readonly memory: HostMemory;
  readonly written: boolean;
}

/** What one run needs. */
export interface HarnessRun {
  readonly library: string;
  readonly entry: string;
  readonly params: Uint8Array;
  readonly buffers: readonly HarnessBuffer[];
  readonly tasks: number;
  readonly chunk: number;
  readonly scratchBytes: number;
}

/** Runs a kernel in a process of its own; buffers that it writes are changed in place. */
export function runKernel(run: HarnessRun): void {
  harness ??= keptProgram('cpu-harness', HARNESS, (path) => {
    copyFileSync(compile(compilers()[0] ?? 'c++', HARNESS, ['-std=c++17', '-ldl']), path);
  });
  const { tasks, chunk, scratchBytes, params, buffers } = run;
  const int64s = (values: readonly number[]): Uint8Array =>
    new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
  const bytes = buffers.map(
    ({ memory }) => new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength),
  );
  const places = buffers.flatMap(({ at, memory, written }) => [
    at,
    memory.byteLength,
    memory.BYTES_PER_ELEMENT,
    Number(written),
  ]);
  const head = [tasks, chunk, scratchBytes, params.byteLength, buffers.length];
  const input = Buffer.concat([int64s(head), params, int64s(places), ...bytes]);
  const { status, stdout, stderr } = runProgram(harness, [run.library, run.entry], input);
  if (status !== 0) throw new Error(`the kernel ended with ${status}: ${stderr}`);
  let at = 0;
  buffers.forEach(({ memory, written }, i) => {
    if (!written) return;
    bytes[i]?.set(stdout.subarray(at, at + memory.byteLength));
    at += memory.byteLength;
  });
}
