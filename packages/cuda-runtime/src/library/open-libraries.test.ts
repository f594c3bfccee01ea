import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildFakeCublas,
  buildFakeCublasLt,
  buildFakeNccl,
  buildFakeCusolver,
  buildFakeDriver,
  buildFakeNvrtc,
} from '../../test/fake-driver/build.mjs';
import { runScript } from '../../test/run-script.mjs';
import type { CudaReport } from '../cuda.js';

let folder = '';
let fakeDriver = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-open-'));
  fakeDriver = await buildFakeDriver();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a script whose last line of output is JSON. */
async function json(body: string, env: Record<string, string> = {}): Promise<unknown> {
  const { stdout, stderr, code } = await runScript(body, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const report = 'console.log(JSON.stringify(mercer.cuda.report()))';
const failure = (call: string): string =>
  `try { ${call} } catch (e) { console.log(JSON.stringify({ code: e.code, class: e.constructor.name, message: e.message, attempts: e.attempts })) }`;
interface Failure {
  code: string;
  class: string;
  message: string;
  attempts: { path: string; error: string }[];
}

describe('importing', () => {
  test('opens no library, makes no file and never throws', async () => {
    const found = await json(
      `import { readFileSync } from 'node:fs';
       console.log(JSON.stringify({ maps: /mercer_cuda|libcuda|nvrtc|cusolver|cublas/.test(readFileSync('/proc/self/maps', 'latin1')) }))`,
      { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' },
    );
    expect(found).toEqual({ maps: false });
  });

  test('an addon that cannot be loaded is an error with attempts and remedies; isAvailable is false', async () => {
    const copied = join(folder, 'copy');
    const here = join(import.meta.dirname, '../..');
    cpSync(join(here, 'dist'), join(copied, 'dist'), { recursive: true });
    copyFileSync(join(here, 'package.json'), join(copied, 'package.json'));
    mkdirSync(join(copied, 'node_modules/@mercer'), { recursive: true });
    symlinkSync(join(here, '../options'), join(copied, 'node_modules/@mercer/options'));
    const found = (await json(
      `const { cuda, nvrtc } = await import(${JSON.stringify(join(copied, 'dist/index.js'))});
       const before = [cuda.isAvailable(), nvrtc.isAvailable(), cuda.report().driver.found];
       try { cuda.deviceCount() } catch (e) {
         console.log(JSON.stringify({ before, message: e.message, attempts: e.attempts }))
       }`,
    )) as Failure & { before: boolean[] };
    expect(found.before).toEqual([false, false, false]);
    expect(found.attempts).toHaveLength(2);
    expect(found.attempts[0]?.path).toMatch(/^@mercer\/cuda-runtime-linux-/);
    expect(found.attempts[1]?.path).toBe(join(copied, 'build/Release/mercer_cuda.node'));
    expect(found.message).toContain('1. Install with optional dependencies');
  });
});

describe('the driver', () => {
  test('absent: every place tried, a remedy, and nothing thrown by report', async () => {
    const found = (await json(report, {
      MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1',
    })) as CudaReport;
    expect(found.driver.found).toBe(false);
    expect(found.driver.attempts).toEqual([
      {
        path: '/nonexistent/libcuda.so.1',
        error: expect.stringContaining('No such file') as string,
      },
    ]);
    expect(found.driver.remedy).toContain('MERCER_CUDA_DRIVER_PATH');
    expect(found.devices).toEqual([]);
  });

  test('absent: the call that needs it throws LibraryNotFoundError with the attempts, the second time too', async () => {
    const found = (await json(
      `let first; try { mercer.cuda.device(0) } catch (e) { first = e.message }
       ${failure('mercer.cuda.device(0)').replace('JSON.stringify({', 'JSON.stringify({ same: first === e.message,')}`,
      { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' },
    )) as Failure & { same: boolean };
    expect(found).toMatchObject({
      code: 'LIBRARY_NOT_FOUND',
      class: 'LibraryNotFoundError',
      same: true,
    });
    expect(found.message).toContain('/nonexistent/libcuda.so.1');
    expect(found.attempts).toHaveLength(1);
  });

  test('found: path, version and devices', async () => {
    const found = (await json(report, {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_FAKE_DEVICES: '3',
      MERCER_FAKE_DRIVER_VERSION: '12080',
    })) as CudaReport;
    expect(found.driver).toMatchObject({ found: true, path: fakeDriver, version: '12.8' });
    expect(found.devices.map(({ index, name }) => [index, name])).toEqual([
      [0, 'Fake GPU 0'],
      [1, 'Fake GPU 1'],
      [2, 'Fake GPU 2'],
    ]);
  });

  test('with no device: found, but not available', async () => {
    const found = await json(
      'console.log(JSON.stringify([mercer.cuda.isAvailable(), mercer.cuda.deviceCount(), mercer.cuda.report().driver.found]))',
      { MERCER_CUDA_DRIVER_PATH: fakeDriver, MERCER_FAKE_DEVICES: '0' },
    );
    expect(found).toEqual([false, 0, true]);
  });

  test('older than 12.0 is refused by name', async () => {
    const found = (await json(failure('mercer.cuda.device(0)'), {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_FAKE_DRIVER_VERSION: '11080',
    })) as Failure;
    expect(found.attempts[0]?.error).toContain('DRIVER_TOO_OLD: it supports CUDA 11.8');
  });

  test('a stub for linking is refused', async () => {
    const stubs = join(folder, 'stubs');
    mkdirSync(stubs);
    copyFileSync(fakeDriver, join(stubs, 'libcuda.so.1'));
    const found = (await json(report, {
      MERCER_CUDA_DRIVER_PATH: join(stubs, 'libcuda.so.1'),
    })) as CudaReport;
    expect(found.driver.found).toBe(false);
    expect(found.driver.attempts[0]?.error).toContain('stub for linking');
  });

  test('a file that is no driver is refused with what it lacks', async () => {
    const nvrtc = await buildFakeNvrtc(13);
    const found = (await json(report, { MERCER_CUDA_DRIVER_PATH: nvrtc })) as CudaReport;
    expect(found.driver.attempts[0]?.error).toContain('no symbol cuInit');
  });

  test('is found by the system search through LD_LIBRARY_PATH', async () => {
    const found = (await json(report, { LD_LIBRARY_PATH: join(fakeDriver, '..') })) as CudaReport;
    expect(found.driver).toMatchObject({ found: true, path: fakeDriver });
  });
});

describe('NVRTC', () => {
  test('of CUDA 11 is refused with a message', async () => {
    const old = await buildFakeNvrtc(11);
    const found = (await json(failure('mercer.nvrtc.version()'), {
      MERCER_CUDA_NVRTC_PATH: old,
    })) as Failure;
    expect(found.class).toBe('LibraryNotFoundError');
    expect(found.attempts).toEqual([
      { path: old, error: 'WRONG_MAJOR: it is NVRTC 11.0, but CUDA 12 or 13 is needed' },
    ]);
    expect(found.message).toContain('CUDA 11 is too old');
  });

  test('named exactly but absent: an error, no search elsewhere', async () => {
    const found = (await json(report, {
      MERCER_CUDA_NVRTC_PATH: '/nonexistent/libnvrtc.so.13',
      LD_LIBRARY_PATH: join(await buildFakeNvrtc(13), '..'),
    })) as CudaReport;
    expect(found.nvrtc.found).toBe(false);
    expect(found.nvrtc.attempts).toHaveLength(1);
  });

  test.each([
    ['13.0', '13000', '13.0'],
    ['12.4', '12040', '12.0'],
  ])(
    'for a driver of %s the toolkit of the same major comes first',
    async (_name, version, expected) => {
      const both = join(folder, `both-${version}`);
      mkdirSync(join(both, 'lib64'), { recursive: true });
      for (const major of [12, 13]) {
        copyFileSync(await buildFakeNvrtc(major), join(both, 'lib64', `libnvrtc.so.${major}`));
      }
      const found = (await json(report, {
        MERCER_CUDA_DRIVER_PATH: fakeDriver,
        MERCER_FAKE_DRIVER_VERSION: version,
        MERCER_CUDA_HOME: both,
      })) as CudaReport;
      expect(found.nvrtc).toMatchObject({ found: true, version: expected });
      expect(found.nvrtc.path).toContain(both);
    },
  );

  test('its identity has the version and no path, and is the same from another folder', async () => {
    const original = await buildFakeNvrtc(13);
    const moved = join(folder, 'moved');
    mkdirSync(moved);
    copyFileSync(original, join(moved, 'libnvrtc.so.13'));
    const ask = 'console.log(JSON.stringify(mercer.nvrtc.identity()))';
    const first = await json(ask, { MERCER_CUDA_NVRTC_PATH: original });
    const second = await json(ask, { MERCER_CUDA_NVRTC_PATH: join(moved, 'libnvrtc.so.13') });
    expect(first).toBe(second);
    expect(first).toMatch(/^nvrtc-13\.0-[0-9a-f]{16,}/);
    expect(first).not.toBe(await json(ask, { MERCER_CUDA_NVRTC_PATH: await buildFakeNvrtc(12) }));
  });
});

describe('cuSOLVER and cuBLASLt', () => {
  const both =
    'console.log(JSON.stringify([mercer.cusolver.report(), mercer.cublasLt.report(), mercer.cusolver.isAvailable(), mercer.cublasLt.isAvailable()]))';
  type Both = [CudaReport['driver'], CudaReport['driver'], boolean, boolean];

  test('absent: reports with every place tried and a remedy, and calls that throw LibraryNotFoundError', async () => {
    const env = {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_CUDA_CUSOLVER_PATH: '/nonexistent/libcusolver.so.12',
      MERCER_CUDA_CUBLASLT_PATH: '/nonexistent/libcublasLt.so.13',
    };
    const [solver, blas, ...available] = (await json(both, env)) as Both;
    expect(available).toEqual([false, false]);
    expect(solver).toMatchObject({
      found: false,
      attempts: [{ path: '/nonexistent/libcusolver.so.12' }],
      remedy: expect.stringContaining('MERCER_CUDA_CUSOLVER_PATH') as string,
    });
    expect(blas).toMatchObject({
      found: false,
      attempts: [{ path: '/nonexistent/libcublasLt.so.13' }],
      remedy: expect.stringContaining('MERCER_CUDA_CUBLASLT_PATH') as string,
    });
    const use =
      'mercer.cusolver.potrfWorkspace(mercer.cuda.device(0).defaultStream, { dtype: "float32", uplo: "lower", n: 1, leadingDimension: 1 })';
    expect(await json(failure(use), env)).toMatchObject({
      code: 'LIBRARY_NOT_FOUND',
      message: expect.stringContaining('libcusolver.so.12') as string,
    });
    const multiply = 'mercer.cublasLt.matmul(mercer.cuda.device(0).defaultStream, { k: 1 })';
    expect(await json(failure(multiply), env)).toMatchObject({ class: 'LibraryNotFoundError' });
  });

  test('found in one folder of pip, with their versions', async () => {
    const home = join(folder, 'pip-solvers');
    mkdirSync(join(home, 'nvidia/cu13/lib'), { recursive: true });
    copyFileSync(await buildFakeCusolver(12), join(home, 'nvidia/cu13/lib/libcusolver.so.12'));
    copyFileSync(await buildFakeCublasLt(13), join(home, 'nvidia/cu13/lib/libcublasLt.so.13'));
    const [solver, blas, ...available] = (await json(both, {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_CUDA_HOME: home,
    })) as Both;
    expect(available).toEqual([true, true]);
    expect(solver).toMatchObject({ found: true, version: '12.0.4' });
    expect(solver.path).toBe(join(home, 'nvidia/cu13/lib/libcusolver.so.12'));
    expect(blas).toMatchObject({ found: true, version: '13.1.1' });
  });

  test('the toolkit of a library already open is preferred to the driver’s', async () => {
    const home = join(folder, 'two-solvers');
    mkdirSync(join(home, 'lib64'), { recursive: true });
    for (const major of [12, 13]) {
      const lib = (name: string): string => join(home, 'lib64', name);
      copyFileSync(await buildFakeCusolver(major - 1), lib(`libcusolver.so.${major - 1}`));
      copyFileSync(await buildFakeCublasLt(major), lib(`libcublasLt.so.${major}`));
    }
    const env = { MERCER_CUDA_DRIVER_PATH: fakeDriver, MERCER_CUDA_HOME: home };
    const [newest] = (await json(both, env)) as Both;
    expect(newest.version).toBe('12.0.4');
    const [solver, blas] = (await json(`mercer.nvrtc.isAvailable(); ${both}`, {
      ...env,
      MERCER_CUDA_NVRTC_PATH: await buildFakeNvrtc(12),
    })) as Both;
    expect([solver.version, blas.version]).toEqual(['11.0.4', '12.1.1']);
  });

  test('of CUDA 11 and stubs for linking are refused', async () => {
    const stubs = join(folder, 'toolkit', 'stubs');
    mkdirSync(stubs, { recursive: true });
    copyFileSync(await buildFakeCublasLt(13), join(stubs, 'libcublasLt.so.13'));
    const [solver, blas] = (await json(both, {
      MERCER_CUDA_CUSOLVER_PATH: await buildFakeCusolver(10),
      MERCER_CUDA_CUBLASLT_PATH: join(stubs, 'libcublasLt.so.13'),
    })) as Both;
    expect(solver.attempts[0]?.error).toBe(
      'WRONG_MAJOR: it is cuSOLVER 10, but 11 (CUDA 12) or 12 (CUDA 13) is needed',
    );
    expect(blas.attempts[0]?.error).toContain('stub for linking');
    const [, old] = (await json(both, {
      MERCER_CUDA_CUSOLVER_PATH: await buildFakeCublasLt(11),
      MERCER_CUDA_CUBLASLT_PATH: await buildFakeCublasLt(11),
    })) as Both;
    expect(old.attempts[0]?.error).toBe('WRONG_MAJOR: it is cuBLASLt 11, but 12 or 13 is needed');
  });

  test('a cuSOLVER without XsyevBatched serves everything else', async () => {
    const body = `
      const device = mercer.cuda.device(0), stream = device.defaultStream;
      const a = { buffer: device.allocate(64, stream), leadingDimension: 2 };
      const values = { buffer: a.buffer };
      const shape = { dtype: 'float32', uplo: 'lower', n: 2, a, values, vectors: true };
      const { deviceBytes } = mercer.cusolver.syevdWorkspace(stream, shape);
      try { mercer.cusolver.syevBatchedWorkspace(stream, { ...shape, batch: 1 }) } catch (e) {
        console.log(JSON.stringify({ deviceBytes, code: e.code, message: e.message }));
      }`;
    const found = await json(body, {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_CUDA_CUSOLVER_PATH: await buildFakeCusolver(11),
    });
    expect(found).toMatchObject({ deviceBytes: 64, code: 'NOT_SUPPORTED' });
  });
});

describe('cuBLAS', () => {
  const ask = 'console.log(JSON.stringify([mercer.cublas.report(), mercer.cublas.isAvailable()]))';
  type Answer = [CudaReport['driver'], boolean];
  const identity =
    '{ dtype: "float32", side: "left", uplo: "lower", rows: 1, columns: 1, a: one, b: one }';

  test('absent: a report with every place tried and a remedy, and calls that throw LibraryNotFoundError', async () => {
    const env = {
      MERCER_CUDA_DRIVER_PATH: fakeDriver,
      MERCER_CUDA_CUBLAS_PATH: '/nonexistent/libcublas.so.13',
    };
    const [found, available] = (await json(ask, env)) as Answer;
    expect(available).toBe(false);
    expect(found).toMatchObject({
      found: false,
      attempts: [{ path: '/nonexistent/libcublas.so.13' }],
      remedy: expect.stringContaining('MERCER_CUDA_CUBLAS_PATH') as string,
    });
    const use = `const one = {}; mercer.cublas.trsm(mercer.cuda.device(0).defaultStream, ${identity})`;
    expect(await json(failure(use), env)).toMatchObject({
      code: 'LIBRARY_NOT_FOUND',
      message: expect.stringContaining('libcublas.so.13 or libcublas.so.12') as string,
    });
  });

  test('found in a folder of pip, with its version, which the others then follow', async () => {
    const home = join(folder, 'pip-cublas');
    mkdirSync(join(home, 'nvidia/cublas/lib'), { recursive: true });
    mkdirSync(join(home, 'lib64'), { recursive: true });
    copyFileSync(await buildFakeCublas(12), join(home, 'nvidia/cublas/lib/libcublas.so.12'));
    for (const major of [11, 12]) {
      const name = `libcusolver.so.${major}`;
      copyFileSync(await buildFakeCusolver(major), join(home, 'lib64', name));
    }
    const env = { MERCER_CUDA_DRIVER_PATH: fakeDriver, MERCER_CUDA_HOME: home };
    const solver = 'JSON.stringify(mercer.cusolver.report().version)';
    expect(await json(`console.log(${solver})`, env)).toBe('12.0.4');
    const after = `const blas = mercer.cublas.report(); console.log('[' + JSON.stringify(blas) + ',' + ${solver} + ']')`;
    const [blas, version] = (await json(after, env)) as [CudaReport['driver'], string];
    expect(blas).toMatchObject({ found: true, version: '12.1.1' });
    expect(blas.path).toBe(join(home, 'nvidia/cublas/lib/libcublas.so.12'));
    expect(version).toBe('11.0.4');
  });

  test('of CUDA 11, a stub for linking and another library are refused', async () => {
    const stubs = join(folder, 'blas-toolkit', 'stubs');
    mkdirSync(stubs, { recursive: true });
    copyFileSync(await buildFakeCublas(13), join(stubs, 'libcublas.so.13'));
    const refusal = async (path: string): Promise<string | undefined> => {
      const [found] = (await json(ask, { MERCER_CUDA_CUBLAS_PATH: path })) as Answer;
      return found.attempts[0]?.error;
    };
    expect(await refusal(await buildFakeCublas(11))).toBe(
      'WRONG_MAJOR: it is cuBLAS 11, but 12 or 13 is needed',
    );
    expect(await refusal(join(stubs, 'libcublas.so.13'))).toContain('stub for linking');
    expect(await refusal(await buildFakeCublasLt(13))).toContain('no symbol cublasGetProperty');
  });

  test('NCCL of before 2.14 and another library are refused, and the remedy names packages', async () => {
    const ask = 'console.log(JSON.stringify(mercer.nccl.report()))';
    const refusal = async (path: string): Promise<CudaReport['driver']> =>
      (await json(ask, { MERCER_CUDA_NCCL_PATH: path })) as CudaReport['driver'];
    const old = await refusal(await buildFakeNccl(21210));
    expect(old.attempts[0]?.error).toBe('it is NCCL 2.12.10, but 2.14 or newer is needed');
    expect(old.remedy).toContain('pip install nvidia-nccl-cu13');
    const other = await refusal(await buildFakeCublas(13));
    expect(other.attempts[0]?.error).toContain('no symbol ncclGetVersion');
    const found = await refusal(await buildFakeNccl());
    expect(found).toMatchObject({ found: true, version: '2.23.4' });
  });

  test('without 64-bit calls solves with the others, and refuses dimensions that they do not take', async () => {
    const body = `
      const { buffer, stream } = (() => {
        const stream = mercer.cuda.device(0).defaultStream;
        return { stream, buffer: stream.device.allocate(64, stream) };
      })();
      await stream.copyToDevice(buffer, 0, Float32Array.of(2, 0, 0, 0, 8));
      const one = { buffer, leadingDimension: 1 };
      mercer.cublas.trsm(stream, { ...${identity}, b: { ...one, byteOffset: 16 } });
      const out = new Float32Array(16);
      await stream.copyToHost(out, buffer);
      try { mercer.cublas.trsm(stream, { ...${identity}, b: { ...one, leadingDimension: 2 ** 31 } }) } catch (e) {
        console.log(JSON.stringify({ x: out[4], code: e.code, message: e.message }));
      }`;
    const old = { MERCER_CUDA_CUBLAS_PATH: await buildFakeCublas(12) };
    const env = { MERCER_CUDA_DRIVER_PATH: fakeDriver, ...old };
    expect(await json(body, env)).toMatchObject({
      x: 4,
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('from 0 to 2147483647, got 2147483648') as string,
    });
  });
});
