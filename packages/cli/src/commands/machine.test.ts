import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JitCache, lapack } from '@mercer/core';
import type { BenchReport } from '../bench/bench-report.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

/** What the build of WebAssembly writes, where there is a compiler for it. */
const WASM = new URL('../../../cpu-runtime/build/wasm/mercer_cpu.wasm', import.meta.url);
const WITHOUT_COMPILER = { CXX: '/nonexistent/c++', PATH: '/nonexistent' };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-cli-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer doctor', () => {
  it('finds the CPU working and says where it looked for CUDA', async () => {
    const missing = { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' };
    const found = await mercerJson(['doctor'], missing);
    expect(found).toMatchObject({
      backends: [{ id: 'cpu', works: true }],
      cuda: { driver: { found: false } },
    });
    const text = await mercer(['doctor', '--attempts'], missing);
    expect(text.status).toBe(0);
    expect(text.stdout).toContain('/nonexistent/libcuda.so.1');
    expect(text.stdout).toMatch(/works {2}cpu/);
  });

  it('says where it looked for the CUDA libraries of linear algebra, and what helps', async () => {
    const missing = {
      MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1',
      MERCER_CUDA_CUSOLVER_PATH: '/nonexistent/libcusolver.so.12',
      MERCER_CUDA_CUBLASLT_PATH: '/nonexistent/libcublasLt.so.13',
      MERCER_CUDA_CUBLAS_PATH: '/nonexistent/libcublas.so.13',
    };
    const remedy = (variable: string): unknown => ({
      found: false,
      remedy: expect.stringContaining(variable) as string,
    });
    expect(await mercerJson(['doctor'], missing)).toMatchObject({
      cudaLibraries: {
        cusolver: remedy('MERCER_CUDA_CUSOLVER_PATH'),
        cublasLt: remedy('MERCER_CUDA_CUBLASLT_PATH'),
        cublas: remedy('MERCER_CUDA_CUBLAS_PATH'),
      },
    });
    const { stdout } = await mercer(['doctor', '--attempts'], missing);
    for (const name of ['cuSOLVER', 'cuBLASLt', 'cuBLAS'])
      expect(stdout).toMatch(new RegExp(`${name} +not found \\(1 place tried`));
    expect(stdout).toContain('/nonexistent/libcublas.so.13: ');
  });

  it('says that there is no BLAS and LAPACK, and what to install', async () => {
    const none = { MERCER_BLAS: 'none', MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' };
    const found = await mercerJson(['doctor'], none);
    expect(found).toMatchObject({
      lapack: { found: false, attempts: [{ path: 'MERCER_BLAS' }] },
      advice: [{ missing: 'lapack' }],
    });
    const text = await mercer(['doctor'], none);
    expect(text.stdout).toMatch(/LAPACK +not found \(1 place tried/);
    expect(text.stdout).toContain('slow without a LAPACK');
  });

  it.skipIf(!lapack.isAvailable())(
    'says which BLAS and LAPACK is used, and how it was found',
    async () => {
      const path = String(lapack.report().path);
      const named = { MERCER_BLAS: path };
      expect(await mercerJson(['doctor'], named)).toMatchObject({
        lapack: { found: true, path, source: 'MERCER_BLAS' },
      });
      const { stdout } = await mercer(['doctor'], named);
      expect(stdout).toMatch(/LAPACK +\w+, (32|64)-bit integers, named by MERCER_BLAS +\//);
    },
  );

  it('works without a compiler, and shows what runs kernels on the CPU', async () => {
    const env = { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1', ...WITHOUT_COMPILER };
    const { status, stdout } = await mercer(['doctor'], { ...env, MERCER_CPU: '' });
    expect(status).toBe(0);
    expect(stdout).toMatch(/works {2}cpu/);
    expect(stdout).toMatch(/CPU runs +interpreted kernels \(no C\+\+ compiler was found\)/);
    expect(stdout).toContain('compiled ones are faster');
    const forced = await mercerJson(['doctor'], { ...env, MERCER_CPU: 'interpreted' });
    expect(forced).toMatchObject({ executor: { executor: 'interpreted', reason: 'MERCER_CPU' } });
    const usual = await mercerJson(['doctor'], { MERCER_CPU: '' });
    expect(usual).toMatchObject({ executor: { executor: 'compiled' } });
  });

  it.skipIf(!existsSync(WASM))('says that WebAssembly runs, and what is lost by it', async () => {
    const env = { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' };
    const forced = await mercer(['doctor'], { ...env, MERCER_CPU: 'wasm' });
    expect(forced.status).toBe(0);
    expect(forced.stdout).toMatch(/processor .+ wasm128 \(wasm128\)/);
    expect(forced.stdout).toMatch(/CPU runs +interpreted kernels in WebAssembly \(MERCER_CPU\)/);
    expect(forced.stdout).not.toContain('compiled ones are faster');
    const hidden = join(folder, 'hidden.cjs');
    await writeFile(
      hidden,
      `const open = process.dlopen;
process.dlopen = (module, file, ...more) => {
  if (String(file).includes('mercer_cpu')) throw new Error('wrong machine');
  return open.call(process, module, file, ...more);
};
`,
    );
    const found = { ...env, MERCER_CPU: '', NODE_OPTIONS: `--require ${hidden}` };
    expect(await mercerJson(['doctor'], found)).toMatchObject({
      cpu: {
        level: 'wasm128',
        attempts: expect.arrayContaining([
          { path: expect.stringMatching(/mercer_cpu\.node$/) as string, error: 'wrong machine' },
        ]) as unknown,
      },
      executor: { executor: 'interpreted', reason: 'no native binary fits, and WebAssembly runs' },
      backends: [{ id: 'cpu', works: true }],
      advice: expect.arrayContaining([expect.objectContaining({ missing: 'native' })]) as unknown,
    });
  });

  it('says that compiling fails, and why, where calls are interpreted for it', async () => {
    const failing = join(folder, 'failing');
    const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
    const script = `#!/bin/sh
case "$1" in
--version) echo "g++ (Failing) 12.2.0";;
-dumpmachine) echo ${machine};;
-dumpversion) echo 12;;
*) echo "fatal error: stdint.h is gone" >&2; exit 1;;
esac
`;
    await writeFile(failing, script, { mode: 0o755 });
    const env = {
      MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1',
      MERCER_CACHE: 'off',
      CXX: failing,
      MERCER_CPU: '',
    };
    const { status, stdout } = await mercer(['doctor'], env);
    expect(status).toBe(0);
    expect(stdout).toMatch(/works {2}cpu/);
    expect(stdout).toMatch(/compiling fails: calls are interpreted, preparing one is an error/);
    expect(stdout).toMatch(/stdint\.h is gone/);
    expect(await mercerJson(['doctor'], env)).toMatchObject({
      compilerTrouble: expect.stringContaining('stdint.h is gone') as string,
    });
    const usual = await mercer(['doctor'], { MERCER_CPU: '' });
    expect(usual.stdout).not.toContain('compiling fails');
  });

  it('shows kernels that did not compile, also those for which nobody waited', async () => {
    const dir = join(folder, 'failed-compiles');
    const cache = JitCache.open({ directory: dir });
    const unit = { language: 'c++', source: 'x', options: [], target: 'x86-64-v3' } as const;
    const toolchain = {
      name: 'c++',
      identity: 'c++ 1',
      compile: () => Promise.reject(new Error("ended with status 1: 'x' is unknown\nmore")),
    };
    await expect(cache.get({ ...unit, names: ['pairwise_1'] }, toolchain)).rejects.toThrow();
    await cache.close();
    const env = { MERCER_CACHE_DIR: dir, MERCER_CACHE: 'rw' };
    const { status, stdout } = await mercer(['doctor'], env);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /compiling failed: pairwise_1 for x86-64-v3, \d{4}-\d\d-\d\d \d\d:\d\d\n +ended with status 1: 'x' is unknown\n/,
    );
    expect(await mercerJson(['doctor'], env)).toMatchObject({
      failedCompiles: [{ names: ['pairwise_1'], message: "ended with status 1: 'x' is unknown" }],
    });
    await mercer(['cache', 'clear', '--dir', dir, '--yes']);
    expect((await mercer(['doctor'], env)).stdout).not.toContain('compiling failed');
  });

  it('fails when nothing works, and says what to install', async () => {
    const run = await mercer(['doctor'], {
      MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1',
      MERCER_CACHE: 'off',
      ...WITHOUT_COMPILER,
      MERCER_CPU: 'compiled',
    });
    expect(run.status).toBe(1);
    expect(run.stdout).toMatch(/fails {2}cpu/);
    expect(run.stdout).toContain('What to install');
    expect(run.stderr).toMatch(/^error: Cannot compute on this machine/);
  });
});

describe('mercer bench', () => {
  it('measures compiled kernels: a first call, which waits for them, fills the store', async () => {
    const env = {
      MERCER_CPU: '',
      MERCER_CACHE: 'rw',
      MERCER_CACHE_DIR: join(folder, 'first-call'),
    };
    await mercerJson(['bench', 'first-call', '--device', 'cpu'], env);
    const list = await mercerJson(['cache', 'list', '--dir', join(folder, 'first-call')]);
    expect(list).not.toEqual([]);
  });
});

describe('mercer cache', () => {
  it('lists, verifies, prunes and clears the store of a folder', async () => {
    const dir = join(folder, 'store');
    await mercerJson(['doctor'], { MERCER_CACHE_DIR: dir, MERCER_CACHE: 'rw' });
    const list = (await mercerJson(['cache', 'list', '--dir', dir])) as {
      key: string;
      bytes: number;
    }[];
    expect(list.length).toBeGreaterThan(0);
    expect(await mercerJson(['cache', 'stats', '--dir', dir])).toMatchObject({
      state: 'disk',
      entries: list.length,
    });
    expect(await mercerJson(['cache', 'verify', '--dir', dir])).toEqual({
      checked: list.length,
      corrupt: 0,
    });
    const table = await mercer(['cache', 'list', '--dir', dir]);
    expect(table.stdout).toContain(list[0]?.key.slice(0, 12));
    expect(await mercerJson(['cache', 'prune', '--dir', dir, '--max-bytes', '1G'])).toMatchObject({
      removed: 0,
      entries: list.length,
    });
    const unconfirmed = await mercer(['cache', 'clear', '--dir', dir]);
    expect(unconfirmed).toMatchObject({ status: 2, stdout: '' });
    expect(unconfirmed.stderr).toContain('--yes');
    expect(await mercerJson(['cache', 'clear', '--dir', dir, '--yes'])).toEqual({
      removed: list.length,
    });
    expect(await mercerJson(['cache', 'list', '--dir', dir])).toEqual([]);
  });
});

describe('mercer bench', () => {
  it('measures the limits of the CPU', async () => {
    const out = join(folder, 'limits.json');
    const report = (await mercerJson(['bench', 'limits', '--device', 'cpu', '--out', out])) as {
      device: string;
      limits: {
        limit: string;
        ms: { median: number };
        bytesPerSecond?: number;
        issuePerSecond?: number;
      }[];
    };
    expect(report.device).toBe('cpu');
    const by = new Map(report.limits.map((entry) => [entry.limit, entry]));
    expect(by.get('copy')?.bytesPerSecond).toBeGreaterThan(1e8);
    expect(by.get('cpu-fp32-fma')?.issuePerSecond).toBeGreaterThan(1e8);
    // A launch that is waited for, and what one takes of the JavaScript thread.
    expect(by.get('launch')?.ms.median).toBeGreaterThan(0);
    expect(by.get('enqueue')?.ms.median).toBeGreaterThan(0);
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
  });

  it('measures without floors where kernels are interpreted, and says why', async () => {
    const small = ['--m', '20', '--n', '30', '--k', '8', '--batch', '1', '--p', '2'];
    const args = ['bench', 'cdist', '--device', 'cpu', ...small, '--no-peers', '--brief'];
    const out = join(folder, 'interpreted.json');
    const run = await mercer([...args, '--out', out], { MERCER_CPU: 'interpreted' });
    expect(run).toMatchObject({ status: 0 });
    expect(run.stdout).toMatch(
      /Left out: loops of arithmetic, since they have to be compiled.*nothing has a floor/,
    );
    const report = JSON.parse(await readFile(out, 'utf8')) as BenchReport;
    expect(report.limits.limits.map(({ limit }) => limit)).toEqual(['copy', 'launch']);
    const [cell] = report.cells;
    expect(cell?.ms.median).toBeGreaterThan(0);
    expect(cell?.errors.normal?.max).toBeLessThan(8);
    expect(cell).not.toHaveProperty('floor');
  });

  it('times a grid with errors, floors, overhead and compile times, and draws it', async () => {
    const plot = join(folder, 'plot.svg');
    const grid = [
      '--m',
      '1,20',
      '--n',
      '300',
      '--k',
      '64',
      '--batch',
      '1,2',
      '--p',
      '1,inf',
      '--data',
      'normal,close',
    ];
    const report = (await mercerJson([
      'bench',
      'cdist',
      '--device',
      'cpu',
      ...grid,
      '--no-peers',
      '--plot',
      plot,
      '--max-seconds',
      '5',
      '--brief',
    ])) as {
      command: string;
      cells: {
        p: unknown;
        ms: { median: number; p10: number; p90: number };
        errors: Record<string, { max: number }>;
      }[];
      callOverhead: { preparedUs: number };
      compile: { coldMs: number; warmMs: number };
      skipped: unknown[];
    };
    expect(report.command).toMatch(/^mercer bench cdist --device cpu --m 1,20/);
    expect(report.cells.length).toBe(8);
    expect(report.skipped).toEqual([]);
    for (const { ms, errors } of report.cells) {
      expect(ms.p10).toBeGreaterThan(0);
      expect(ms.p90).toBeGreaterThanOrEqual(ms.median);
      expect(Object.keys(errors)).toEqual(['normal', 'close']);
      for (const { max } of Object.values(errors)) expect(max).toBeLessThan(100);
    }
    expect(report.callOverhead.preparedUs).toBeGreaterThan(0);
    expect(report.compile.coldMs).toBeGreaterThan(report.compile.warmMs);
    const svg = await readFile(plot, 'utf8');
    expect(svg.match(/<circle/g)?.length).toBeGreaterThanOrEqual(8);
  });

  it('leaves out what would take too long and says so', async () => {
    const report = await mercerJson([
      'bench',
      'cdist',
      '--device',
      'cpu',
      '--m',
      '30000',
      '--n',
      '30000',
      '--k',
      '4096',
      '--batch',
      '1',
      '--p',
      '2',
      '--no-peers',
      '--max-seconds',
      '0.001',
      '--brief',
    ]);
    expect(report).toMatchObject({ cells: [], skipped: [{ m: 30000 }] });
  });
});

describe('mercer profile', () => {
  const script = `
    import { cdist } from '@mercer/core';
    const d = await cdist([[0, 0], [3, 4]], [[1, 1]], { device: 'cpu' });
    console.log('printed by the program', (await d.toNested()).length);
  `;

  it("shows a program's kernels, writes a trace, and keeps its output apart with --json", async () => {
    const trace = join(folder, 'trace.json');
    const args = ['profile', '--no-limits', '--trace', trace];
    const program = ['node', '--input-type=module', '-e', script];
    const run = await mercer([...args, '--json', ...program]);
    expect(run.status).toBe(0);
    const result = JSON.parse(run.stdout) as {
      launches: number;
      kernels: { calls: number; device: string }[];
    };
    expect(result.launches).toBeGreaterThan(0);
    expect(result.kernels[0]).toMatchObject({ device: 'cpu' });
    expect(run.stderr).toContain('printed by the program 2');
    const { traceEvents } = JSON.parse(await readFile(trace, 'utf8')) as {
      traceEvents: { ph: string }[];
    };
    expect(traceEvents.filter((event) => event.ph === 'X').length).toBe(result.launches);
  });

  it('reports a program that fails, that is missing, and that launches nothing', async () => {
    const failing = await mercer(['profile', '--no-limits', 'node', '-e', 'process.exit(3)']);
    expect(failing.status).toBe(1);
    expect(failing.stderr).toContain('ended with status 3');
    expect(failing.stdout).toContain('launched no kernel');
    const missing = await mercer(['profile', '/nonexistent/program']);
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain("Cannot run '/nonexistent/program'");
  });
});
