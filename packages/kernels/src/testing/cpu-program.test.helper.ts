import { spawnSync } from 'node:child_process';
import type { CpuKernel } from '../emitted-kernel.js';
import { packParams } from '../kernel-param.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import type { PairwiseProgram } from '../pairwise/program.js';
import { compile, compileKernel, compilers, runnableLevels } from './cpu-harness.test.helper.js';

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
  std::vector<int64_t> args(head[3] / 8 + 1), sizes(3 * buffers + 1);
  read_all(args.data(), head[3]);
  read_all(sizes.data(), 24 * buffers);
  std::vector<char*> memory;
  for (int64_t i = 0; i < buffers; i++) {
    memory.push_back(guarded(sizes[3 * i + 1], sizes[3 * i + 2]));
    read_all(memory[i], sizes[3 * i + 1]);
    args[sizes[3 * i] / 8] = (int64_t)memory[i];
  }
  char* scratch = guarded((scratch_bytes + 63) / 64 * 64, 64);
  memset(scratch, 0xff, scratch_bytes);
  for (int64_t i = (tasks + chunk - 1) / chunk - 1; i >= 0; i--) {
    const int64_t begin = i * chunk, end = begin + chunk < tasks ? begin + chunk : tasks;
    run(args.data(), begin, end, scratch);
  }
  for (int64_t i = 0; i < buffers; i++) fwrite(memory[i], 1, sizes[3 * i + 1], stdout);
  return 0;
}
`;

/** Memory of a launch. */
export type HostMemory = Float32Array | Float64Array | Uint8Array;

/** Scalars and buffers of a program's launches by the names of their parameters; null is address 0. */
export interface ProgramLaunch {
  readonly scalars: Readonly<Record<string, number>>;
  readonly pointers: Readonly<Record<string, HostMemory | null>>;
}

let harness: string | undefined;

/** Runs the steps of a host program in order; buffers that a step writes are changed in place. */
export function runCpuProgram(
  program: PairwiseProgram,
  launch: ProgramLaunch,
  level: CpuLevel = runnableLevels().at(-1) ?? 'x86-64-v2',
): void {
  const workspace = new Uint8Array(program.workspaceBytes(launch.scalars)).fill(255);
  const pointers = { workspace, ...launch.pointers };
  for (const { kernel } of program.steps) {
    if (kernel.dialect !== 'cpu') throw new TypeError(`${kernel.name} is no host kernel`);
    runStep(kernel, { ...launch, pointers }, level);
  }
}

function runStep(kernel: CpuKernel, { scalars, pointers }: ProgramLaunch, level: CpuLevel): void {
  const compiler = compilers()[0] ?? 'c++';
  harness ??= compile(compiler, HARNESS, ['-std=c++17']);
  const library = compileKernel(compiler, kernel.source, level);
  const packed = packParams(kernel.params);
  const params = new DataView(new ArrayBuffer(packed.bytes));
  const buffers: { at: number; memory: HostMemory; written: boolean }[] = [];
  kernel.params.forEach((param, i) => {
    const at = packed.offsets[i] ?? 0;
    if (param.kind === 'pointer') {
      const memory = pointers[param.name];
      if (memory === undefined) throw new TypeError(`${kernel.entry}: no pointer ${param.name}`);
      if (memory !== null) buffers.push({ at, memory, written: param.access !== 'read' });
    } else if (param.kind === 'scalar') {
      const value = scalars[param.name];
      if (value === undefined) throw new TypeError(`${kernel.entry}: no scalar ${param.name}`);
      if (param.type === 'float64') params.setFloat64(at, value, true);
      else params.setBigInt64(at, BigInt(value), true);
    }
  });
  const { tasks, chunk, scratchBytes } = kernel.geometry(scalars);
  const head = [tasks, chunk, scratchBytes, packed.bytes, buffers.length];
  const places = buffers.flatMap(({ at, memory }) => [
    at,
    memory.byteLength,
    memory.BYTES_PER_ELEMENT,
  ]);
  const int64s = (values: readonly number[]): Buffer =>
    Buffer.from(new BigInt64Array(values.map(BigInt)).buffer);
  const bytes = buffers.map(
    ({ memory }) => new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength),
  );
  const { status, signal, stdout, stderr } = spawnSync(harness, [library, kernel.entry], {
    input: Buffer.concat([int64s(head), Buffer.from(params.buffer), int64s(places), ...bytes]),
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    throw new Error(`the kernel ended with ${String(signal ?? status)}: ${stderr.toString()}`);
  }
  let at = 0;
  buffers.forEach(({ memory, written }, i) => {
    if (written) bytes[i]?.set(stdout.subarray(at, at + memory.byteLength));
    at += memory.byteLength;
  });
}
