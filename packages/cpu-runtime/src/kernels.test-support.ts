// Kernels that the tests run. Compiled once per test file.
import { cpu } from './cpu.js';
import type { CpuModule } from './cpu-module.js';

export const source = `
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static int64_t nowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

extern "C" void noop(const void*, int64_t, int64_t, void*) {}

// { int32_t* counts }: one count per task
extern "C" void mark(const void* raw, int64_t begin, int64_t end, void*) {
  int32_t* counts = *static_cast<int32_t* const*>(raw);
  for (int64_t i = begin; i < end; ++i) __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
}

// { int64_t ns }: busy time per task
extern "C" void spin(const void* raw, int64_t begin, int64_t end, void*) {
  const int64_t ns = *static_cast<const int64_t*>(raw);
  for (int64_t i = begin; i < end; ++i) for (const int64_t until = nowNs() + ns; nowNs() < until;) {}
}

// { int64_t* log, int64_t value, int64_t ns }: log[0] is the number of entries
extern "C" void append(const void* raw, int64_t begin, int64_t end, void*) {
  struct Args { int64_t* log; int64_t value; int64_t ns; };
  const Args& args = *static_cast<const Args*>(raw);
  for (int64_t i = begin; i < end; ++i) {
    for (const int64_t until = nowNs() + args.ns; nowNs() < until;) {}
    args.log[1 + __atomic_fetch_add(args.log, 1, __ATOMIC_RELAXED)] = args.value;
  }
}

// { double* x }: x[i] += 1
extern "C" void addOne(const void* raw, int64_t begin, int64_t end, void*) {
  double* x = *static_cast<double* const*>(raw);
  for (int64_t i = begin; i < end; ++i) x[i] += 1;
}

static uint64_t floatControl() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & 0xFFC0u;
#else
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
#endif
}

// { uint64_t* words, int64_t* arrived, int64_t threads }: the control word of each thread, which wait for each other
extern "C" void controlWords(const void* raw, int64_t begin, int64_t end, void*) {
  struct Args { uint64_t* words; int64_t* arrived; int64_t threads; };
  const Args& args = *static_cast<const Args*>(raw);
  for (int64_t i = begin; i < end; ++i) {
    args.words[__atomic_fetch_add(args.arrived, 1, __ATOMIC_RELAXED)] = floatControl();
    const int64_t until = nowNs() + 10000000000ll;
    while (__atomic_load_n(args.arrived, __ATOMIC_RELAXED) < args.threads && nowNs() < until) {}
  }
}

// Switches denormals off for the calling thread, as no kernel may.
extern "C" void poison(const void*, int64_t, int64_t, void*) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#else
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  __asm__ volatile("msr fpcr, %0" ::"r"(word | (1ull << 24)));
#endif
}

// { uint64_t* addresses, int64_t bytes, int64_t ns }: scratch address per task; writes its first and last byte
extern "C" void scratchAddress(const void* raw, int64_t begin, int64_t end, void* scratch) {
  struct Args { uint64_t* addresses; int64_t bytes; int64_t ns; };
  const Args& args = *static_cast<const Args*>(raw);
  for (int64_t i = begin; i < end; ++i) {
    args.addresses[i] = reinterpret_cast<uint64_t>(scratch);
    static_cast<volatile char*>(scratch)[0] = 1;
    static_cast<volatile char*>(scratch)[args.bytes - 1] = 1;
    for (const int64_t until = nowNs() + args.ns; nowNs() < until;) {}
  }
}
`;

/** The module of {@link source} for this machine. */
export async function loadKernels(): Promise<CpuModule> {
  const { binary } = await cpu.compile({ source, level: cpu.info().level });
  return cpu.loadModule(binary);
}

/** Packs 64-bit parameters. */
export function pack(...values: readonly (bigint | number)[]): Uint8Array {
  return new Uint8Array(BigInt64Array.from(values, (value) => BigInt(value)).buffer);
}

/** The value at a quantile of a list, which is sorted in place. */
export function quantile(values: number[], q: number): number {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(q * values.length))] ?? Number.NaN;
}

/** Runs `work` while a 10 ms timer ticks; returns how late the ticks were (ms). */
export async function timerDelays(work: () => Promise<unknown>): Promise<number[]> {
  const delays: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    delays.push(Math.max(0, now - last - 10));
    last = now;
  }, 10);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return delays;
}
