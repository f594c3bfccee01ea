import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildFakeDriver } from '../../cuda-runtime/test/fake-driver/build.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cpu } from './index.js';

/* First calls out of a bundle, in processes of their own: with the compiler out of reach, and with one that must not be started. */

const folder = mkdtempSync(join(tmpdir(), 'mercer-bundles-'));
const store = join(folder, 'store');
const bundles = join(folder, 'bundles');
const core = pathToFileURL(
  join(
    process.env['MERCER_TEST_INSTALLED'] ?? join(import.meta.dirname, '../..'),
    'core/dist/index.js',
  ),
).href;

/** No C++ compiler, no NVRTC. */
const NO_COMPILER = {
  CXX: join(folder, 'no-compiler'),
  PATH: folder,
  MERCER_CUDA_HOME: join(folder, 'no-cuda'),
  MERCER_CUDA_NVRTC_PATH: join(folder, 'no-nvrtc'),
};

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in which `mercer` is the library and `cache` is the cache that it uses. */
function ran(program: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const text = `
    import * as mercer from ${JSON.stringify(core)};
    const cache = mercer.JitCache.open();
    mercer.configureJitCache(cache);
    const counters = async () => (await cache.stats()).counters;
    const say = (value) => console.log(JSON.stringify(value));
    const gaussian = async (device) => {
      const x = await mercer.tensor([[0, 0, 0], [1, 2, 2]], { dtype: 'float32', device });
      const y = await mercer.tensor([[0, 0, 0]], { dtype: 'float32', device });
      const b = await mercer.tensor([[3]], { dtype: 'float32', device });
      return mercer.lazyI(x).sqdist(mercer.lazyJ(y)).neg().exp().mul(mercer.lazyJ(b)).sum('j');
    };
    const unusual = async (device) => {
      const x = await mercer.tensor([[0.5], [0.25]], { dtype: 'float32', device });
      return mercer.lazyI(x).mul(mercer.lazyJ(x)).sin().exp().mul(0.123).sum('j');
    };
    ${program}
    await cache.close();
  `;
  return promisify(execFile)(process.execPath, ['--input-type=module', '-e', text], {
    env: { ...process.env, MERCER_CPU: '', MERCER_CACHE: 'off', MERCER_DEVICE: '', ...env },
  });
}

/** The values that a program said, one a line. */
const said = ({ stdout }: Ran): unknown[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

const writing = { MERCER_CACHE: 'rw', MERCER_CACHE_DIR: store, MERCER_KERNELS: 'off' };
const EXPORT = `say((await cache.exportBundles(${JSON.stringify(bundles)})).map(({ kernels }) => kernels));`;

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('on the CPU', () => {
  const VALUES = [[3], [3 * Math.exp(-9)]];

  beforeAll(async () => {
    const made = await ran(`await (await gaussian('cpu')).ready(); ${EXPORT}`, {
      ...writing,
      MERCER_CPU: 'compiled',
    });
    expect(said(made)).toEqual([[1]]);
  });

  const CALL = `
    const sum = await gaussian('cpu');
    say(await sum.toNested());
    say(mercer.planOf(sum).executor);
    say(await counters());`;

  function expectUsual(values: readonly unknown[], hits: Readonly<Record<string, number>>): void {
    const [found, executor, counters] = values;
    for (const [row, [value = NaN]] of (found as number[][]).entries())
      expect(Math.abs(value - (VALUES[row]?.[0] ?? NaN))).toBeLessThan(1e-6);
    expect([executor, counters]).toEqual(['compiled', expect.objectContaining(hits)]);
  }

  it('a usual call is computed by a compiled kernel without a compiler, and nothing is said', async () => {
    const run = await ran(CALL, { ...NO_COMPILER, MERCER_KERNELS: bundles });
    expectUsual(said(run), { bundleHits: 1, compiles: 0, storeHits: 0, bundleCorrupt: 0 });
    expect(run.stderr).toBe('');
  });

  it('an unusual one is interpreted, which is said; with MERCER_CPU=compiled it says that the compiler is missing', async () => {
    const env = { ...NO_COMPILER, MERCER_KERNELS: bundles };
    const call = `${CALL} const other = await unusual('cpu'); say(mercer.planOf(other).executor);`;
    const run = await ran(call, env);
    expect(said(run).at(-1)).toBe('interpreted');
    expect(run.stderr).toMatch(/CPU kernels are interpreted, because no C\+\+ compiler was found/);
    const failed = `${CALL} await unusual('cpu').catch(({ code, message }) => say([code, message]));`;
    const forced = said(await ran(failed, { ...env, MERCER_CPU: 'compiled' }));
    expectUsual(forced, { bundleHits: 1, compiles: 0 });
    expect(forced.at(-1)).toEqual(['COMPILER_NOT_FOUND', expect.stringContaining('no-compiler')]);
  });

  it('without the bundle the same call is interpreted', async () => {
    const run = await ran(CALL, { ...NO_COMPILER, MERCER_KERNELS: 'off' });
    expect(said(run)[1]).toBe('interpreted');
  });

  it('MERCER_CPU=interpreted is heeded', async () => {
    const run = await ran(CALL, { MERCER_KERNELS: bundles, MERCER_CPU: 'interpreted' });
    expect(said(run).slice(1)).toEqual(['interpreted', expect.objectContaining({ bundleHits: 0 })]);
  });

  it('where there is a compiler, a first call does not start it, and a damaged bundle makes it compile', async () => {
    const { path } = await cpu.findCompiler();
    const log = join(folder, 'started');
    const watched = join(folder, 'watched');
    writeFileSync(watched, `#!/bin/sh\necho "$@" >>${log}\nexec ${path} "$@"\n`);
    chmodSync(watched, 0o755);
    const env = { CXX: watched, MERCER_KERNELS: bundles };
    expectUsual(said(await ran(CALL, env)), { bundleHits: 1, compiles: 0 });
    expect(existsSync(log)).toBe(false);
    const damaged = join(folder, 'damaged');
    mkdirSync(damaged);
    const file = `${cpu.info().level}.kernels`;
    const bytes = readFileSync(join(bundles, file));
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 40) ^ 1, bytes.length - 40);
    writeFileSync(join(damaged, file), bytes);
    const healed = await ran(CALL, { ...env, MERCER_KERNELS: damaged, MERCER_CPU: 'compiled' });
    expectUsual(said(healed), { bundleHits: 0, compiles: 1, bundleCorrupt: 1 });
    expect(healed.stderr).toMatch(/a kernel in it cannot be read/);
    expect(existsSync(log)).toBe(true);
  });
});

describe.skipIf(!nvrtcFound())(
  'on a GPU behind the fake driver (skipped only without NVRTC)',
  () => {
    const own = join(folder, 'gpu');
    let driver: NodeJS.ProcessEnv = {};

    beforeAll(async () => {
      driver = { MERCER_CUDA_DRIVER_PATH: await buildFakeDriver() };
      const env = { ...driver, ...writing, MERCER_CACHE_DIR: join(folder, 'gpu-store') };
      const made = await ran(
        `await (await gaussian('cuda:0')).ready();
       say((await cache.exportBundles(${JSON.stringify(own)})).map(({ target }) => target));`,
        env,
      );
      expect(said(made)).toEqual([['sm_90a']]);
    });

    it('a usual call needs no NVRTC, the GPU is the default device, and an unusual call names what is missing', async () => {
      const run = await ran(
        `say(mercer.defaultDevice().id);
       say(mercer.devices().map(({ id }) => id));
       await (await gaussian()).ready();
       say(await counters());
       await unusual().catch(({ code, message }) => say([code, message]));`,
        { ...driver, ...NO_COMPILER, MERCER_KERNELS: own },
      );
      const [device, all, counters, error] = said(run);
      expect([device, all]).toEqual(['cuda:0', ['cuda:0', 'cpu']]);
      const { bundleHits } = counters as { readonly bundleHits: number };
      expect(bundleHits).toBeGreaterThanOrEqual(1);
      expect(counters).toMatchObject({ compiles: 0, storeHits: 0, misses: 0 });
      expect(error).toEqual(['LIBRARY_NOT_FOUND', expect.stringMatching(/NVRTC/)]);
      expect(run.stderr).toBe('');
    });

    it('where no bundle is for its architecture, it is no device, and the error says both', async () => {
      const run = await ran(
        `say(mercer.devices().map(({ id }) => id));
       try { mercer.device('cuda:0'); } catch ({ code, message }) { say([code, message]); }`,
        { ...driver, ...NO_COMPILER, MERCER_KERNELS: own, MERCER_FAKE_CAPABILITY: '80' },
      );
      expect(said(run)).toEqual([
        ['cpu'],
        [
          'NO_BACKEND',
          expect.stringMatching(/NVRTC was not found, and no package with kernels for sm_80/),
        ],
      ]);
    });
  },
);
