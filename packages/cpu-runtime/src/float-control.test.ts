import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawBinding } from './addon.js';
import type { CpuLevel } from './compiler/compile-options.js';
import { cpu } from './cpu.js';
import type { CpuModule } from './cpu-module.js';
import { loadKernels, pack, source } from './kernels.test-support.js';

const run = promisify(execFile);
const standard = process.arch === 'arm64' ? 0 : 0x1f80;

/** Levels that this machine runs. */
function levels(): CpuLevel[] {
  const { level } = cpu.info();
  const all: CpuLevel[] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
  return level === 'arm64' ? ['arm64'] : all.slice(0, all.indexOf(level) + 1);
}

/** The control word of every thread of the pool. */
async function poolControlWords(module: CpuModule): Promise<number[]> {
  const { threads } = cpu;
  const [words, arrived] = [new BigUint64Array(threads), new BigInt64Array(1)];
  const params = pack(cpu.addressOf(words), cpu.addressOf(arrived), threads);
  const kernel = module.function('controlWords', { paramBytes: 24 });
  const geometry = { tasks: threads, chunk: 1, scratchBytes: 0 };
  kernel.launch(geometry, cpu.defaultStream, params, [words, arrived]);
  await cpu.defaultStream.whenDone();
  expect(arrived[0]).toBe(BigInt(threads)); // every thread took part
  return [...words].map(Number);
}

describe('the floating-point control word', () => {
  it.each(levels())('survives loading and running a kernel for %s', async (level) => {
    const raw = rawBinding();
    expect(raw.floatControl()).toBe(standard);
    for (const options of [[], ['-O0'], ['-ffp-contract=off'], ['-g']]) {
      const { binary } = await cpu.compile({ source, level, options });
      const module = cpu.loadModule(binary);
      expect(JSON.stringify(5e-324)).toBe('5e-324');
      expect(raw.floatControl()).toBe(standard);
      const words = await poolControlWords(module);
      expect(words).toEqual(words.map(() => standard));
      expect(JSON.stringify(5e-324)).toBe('5e-324');
      expect(raw.floatControl()).toBe(standard);
    }
  });

  it('keeps denormals alive inside kernels', async () => {
    const x = new Float64Array([1, 1e-323]);
    const { binary } = await cpu.compile({
      source: `#include <stdint.h>
        extern "C" void halve(const void* raw, int64_t begin, int64_t end, void*) {
          double* x = *static_cast<double* const*>(raw);
          for (int64_t i = begin; i < end; ++i) x[i] *= 0.5;
        }`,
      level: cpu.info().level,
    });
    const halve = cpu.loadModule(binary).function('halve');
    halve.launch(
      { tasks: 2, chunk: 2, scratchBytes: 0 },
      cpu.defaultStream,
      pack(cpu.addressOf(x)),
      [x],
    );
    await cpu.defaultStream.whenDone();
    expect([...x]).toEqual([0.5, 5e-324]);
  });

  it('is put back on a pool thread after a kernel that changes it, and counted', async () => {
    const module = await loadKernels();
    const before = rawBinding().stats().floatControlViolations;
    const geometry = { tasks: 8, chunk: 1, scratchBytes: 0 };
    module.function('poison').launch(geometry, cpu.defaultStream, new Uint8Array(0));
    const words = await poolControlWords(module);
    expect(words).toEqual(words.map(() => standard));
    expect(rawBinding().stats().floatControlViolations).toBeGreaterThan(before);
  });
});

// The checks above can fail: an image built with -ffast-math, or one whose constructor does the same, fails them.
describe('an image that changes the control word', () => {
  let folder: string;
  let images = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'mercer-control-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const script = fileURLToPath(new URL('../test/load-image.mjs', import.meta.url));
  const plain = 'extern "C" void k(const void*, long, long, void*) {}';
  const constructor = `${plain}
    #if defined(__x86_64__)
    __attribute__((constructor)) static void start() { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u); }
    #else
    __attribute__((constructor)) static void start() {
      unsigned long w; __asm__ volatile("mrs %0, fpcr" : "=r"(w)); __asm__ volatile("msr fpcr, %0" ::"r"(w | (1ul << 24)));
    }
    #endif`;

  async function build(text: string, flagSets: readonly (readonly string[])[]): Promise<string> {
    const image = join(folder, `image-${++images}.so`);
    const { path, prefix } = await cpu.findCompiler();
    let failure: unknown;
    for (const flags of flagSets) {
      try {
        const args = [...prefix, '-x', 'c++', '-shared', '-fPIC', ...flags, '-o', image, '-'];
        execFileSync(path, args, { input: text, stdio: ['pipe', 'ignore', 'pipe'] });
        return image;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  // GCC 13 moved the start-up object from -ffast-math to -mdaz-ftz for shared objects; older ones do not know that flag.
  it.each([
    ['built with -ffast-math', plain, [['-ffast-math', '-mdaz-ftz'], ['-ffast-math']]],
    ['with such a constructor', constructor, [['-O2']]],
  ] as const)(
    '%s breaks 5e-324 without the guard and is refused with it',
    async (_, text, flagSets) => {
      const image = await build(text, flagSets);
      const load = async (guard: string): Promise<unknown> =>
        JSON.parse((await run(process.execPath, [script, image, guard])).stdout);
      expect(await load('unguarded')).toMatchObject({ text: '0', product: '0', changed: true });
      expect(await load('guarded')).toMatchObject({
        code: 'FLOAT_CONTROL_CHANGED',
        text: '5e-324',
        changed: false,
      });
    },
  );
});
