import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nvrtc } from '@mercer/cuda-runtime';
import { cpu } from '@mercer/cpu-runtime';
import { describe, expect, test } from 'vitest';
import { artifactTrouble } from './artifact-check.js';
import { JitCache } from './cache.js';
import { loadDriver } from './store/driver.js';
import { compilesIn, testToolchain } from './testing/fake-toolchain.test-support.js';
import { percentile, watchLoop } from './testing/loop-watch.test-support.js';
import { startChild } from './testing/run-child.test-support.js';
import { temporaryDirectory } from './testing/temporary-directory.test-support.js';
import type { CompileUnit } from './types.js';

// The NVRTC of a checkout, where one was put there.
const local = fileURLToPath(new URL('../../../.nvrtc/nvidia/cu13', import.meta.url));
if (existsSync(local)) process.env['MERCER_CUDA_HOME'] ??= local;

function cudaUnit(body: string, target = 'sm_90a'): CompileUnit {
  const source = `extern "C" __global__ void f(float* x, float y) { int i = threadIdx.x; ${body} }
template <class T> __global__ void g(T* x) { *x = T(2); }`;
  return { language: 'cuda', source, options: [], target, names: ['f', 'g<float>'] };
}

function hostUnit(body: string): CompileUnit {
  const source = `#include <stdint.h>
extern "C" void f(const void* args, int64_t begin, int64_t end, void*) {
  float* x = *(float* const*)args; float y = 3.0f;
  for (int64_t i = begin; i < end; ++i) { ${body} }
}`;
  return { language: 'c++', source, options: [], target: cpu.info().level, names: ['f'] };
}

const cases = [
  {
    real: 'host' as const,
    missing: cpu.report().compiler ? undefined : 'no C++ compiler was found',
    make: hostUnit,
    lowered: { f: 'f' },
  },
  {
    real: 'nvrtc' as const,
    missing: nvrtc.isAvailable() ? undefined : 'no NVRTC was found',
    make: cudaUnit,
    lowered: { f: 'f', 'g<float>': '_Z1gIfEvPT_' },
  },
];

describe.each(cases)('$real', ({ real, missing, make, lowered }) => {
  const run = missing === undefined ? test : test.skip;
  const named = (title: string): string => (missing ? `${title} (skipped: ${missing})` : title);
  const unit = make('x[i] = x[i] * y + 1.0f;');

  run(
    named('six processes, then one more: one compile, and the same bytes everywhere'),
    async () => {
      const counterFile = join(temporaryDirectory(), 'count');
      const settings = {
        cache: { directory: temporaryDirectory() },
        toolchain: { real, counterFile },
        waits: true,
      };
      const start = (): ReturnType<typeof startChild> =>
        startChild(settings, { kind: 'get', units: [unit] });
      const children = Array.from({ length: 6 }, start);
      await Promise.all(children.map((child) => child.line('ready')));
      for (const child of children) child.begin();
      const results = await Promise.all(children.map(({ result }) => result));
      const last = start();
      last.begin();
      const warm = await last.result;
      expect(compilesIn(counterFile)).toHaveLength(1);
      expect(warm.gets[0]?.origin).toBe('store');
      expect(warm.gets[0]?.loweredNames).toEqual(lowered);
      expect(new Set([...results, warm].map(({ gets }) => gets[0]?.sha)).size).toBe(1);
    },
  );

  run(named('what was stored is what a fresh compile gives, and loads'), async () => {
    const toolchain = await testToolchain({ real });
    const cache = JitCache.open({ directory: temporaryDirectory() });
    const { binary } = await cache.get(unit, toolchain);
    await cache.close();
    const fresh = await toolchain.compile(unit);
    expect(Buffer.compare(binary, fresh.binary)).toBe(0);
    expect(artifactTrouble(unit.target, binary)).toBeUndefined();
    expect(artifactTrouble(unit.target, binary.subarray(0, binary.length - 64))).toContain(
      'cut off',
    );
    if (real === 'host') expect(cpu.loadModule(binary)).toBeDefined();
  });

  run(named('rot in the store is caught before it could be loaded'), async () => {
    const directory = temporaryDirectory();
    const toolchain = await testToolchain({ real });
    const first = JitCache.open({ directory });
    const { binary } = await first.get(unit, toolchain);
    await first.close();
    const connection = loadDriver().open(join(directory, 'kernels-v1.sqlite'), {
      readOnly: false,
    });
    const rotten = binary.slice();
    rotten[rotten.length >> 1] = (rotten[rotten.length >> 1] ?? 0) ^ 4;
    connection.prepare('UPDATE entry SET binary = ?').run(rotten);
    connection.close();
    const cache = JitCache.open({ directory });
    const healed = await cache.get(unit, toolchain);
    expect(healed.origin).toBe('compiled');
    expect(Buffer.compare(healed.binary, binary)).toBe(0);
    expect((await cache.stats()).counters.corrupt).toBe(1);
    await cache.close();
  });

  run(named('a text that does not compile: the log is in the error, nothing is kept'), async () => {
    const toolchain = await testToolchain({ real });
    const cache = JitCache.open({ directory: temporaryDirectory() });
    const wrong = make('undeclared_name = 1;');
    for (let n = 0; n < 2; n++) {
      await expect(cache.get(wrong, toolchain)).rejects.toMatchObject({
        log: expect.stringContaining('undeclared_name') as string,
      });
    }
    expect((await cache.stats()).counters).toMatchObject({ failures: 2, stored: 0 });
    expect((await cache.get(unit, toolchain)).origin).toBe('compiled');
    await cache.close();
  });

  run(named('options are flags from a closed table'), async () => {
    const toolchain = await testToolchain({ real });
    const cache = JitCache.open({ directory: temporaryDirectory() });
    const fused = await cache.get({ ...unit, options: [{ name: 'fmad', value: true }] }, toolchain);
    const apart = await cache.get(
      { ...unit, options: [{ name: 'fmad', value: false }] },
      toolchain,
    );
    expect(apart.key).not.toBe(fused.key);
    expect(Buffer.compare(apart.binary, fused.binary)).not.toBe(0);
    const evil = { ...unit, options: [{ name: 'include=/etc/passwd', value: true }] };
    await expect(cache.get(evil, toolchain)).rejects.toThrow('include=/etc/passwd');
    const lost = { ...unit, target: 'z80' };
    await expect(cache.get(lost, toolchain)).rejects.toMatchObject({ code: 'TARGET_UNSUPPORTED' });
    await cache.close();
  });

  run(
    named('a batch compiles in parallel and never blocks the event loop for 50 ms (p99)'),
    async () => {
      const toolchain = await testToolchain({ real });
      const cache = JitCache.open({ directory: temporaryDirectory() });
      const stop = watchLoop();
      const long = 'x[i] = x[i] * y + x[i + 1];'.repeat(600);
      const units = Array.from({ length: 4 }, (_, n) => make(`${long} x[i] += ${n}.0f;`));
      const seen: number[] = [];
      const all = await cache.getAll(units, toolchain, {
        onProgress: ({ done }) => seen.push(done),
      });
      const { activeMs } = stop();
      expect(seen).toEqual([1, 2, 3, 4]);
      expect(new Set(all.map(({ key }) => key)).size).toBe(4);
      // The compilers have all cores: only what the loop itself does is counted.
      expect(activeMs.length).toBeGreaterThan(10);
      expect(percentile(activeMs, 0.99)).toBeLessThan(50);
      await cache.close();
    },
  );
});

describe('nvrtc targets', () => {
  const [, { missing } = { missing: '' }] = cases;
  const run = missing === undefined ? test : test.skip;
  run(missing ? `skipped: ${missing}` : 'the target decides between a cubin and PTX', async () => {
    const toolchain = await testToolchain({ real: 'nvrtc' });
    const cache = JitCache.open({ directory: temporaryDirectory() });
    for (const target of ['sm_80', 'sm_90', 'sm_90a', 'sm_120']) {
      const { binary } = await cache.get(cudaUnit('x[i] = y;', target), toolchain);
      expect(artifactTrouble(target, binary)).toBeUndefined();
      expect(artifactTrouble('sm_75', binary)).toContain('it is for sm_');
    }
    const ptx = await cache.get(cudaUnit('x[i] = y;', 'compute_90'), toolchain);
    expect(Buffer.from(ptx.binary).toString('latin1')).toContain('.target sm_90');
    expect(toolchain.identityFor?.('compute_90')).toContain('driver');
    expect(toolchain.identityFor?.('sm_90a')).toBe(toolchain.identity);
    await cache.close();
  });
});
