import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nvrtc } from '@mercer/core';
import { writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
// The fake driver lives in the workspace only; its kernels do nothing, so nothing here looks at results.
import {
  buildFakeCublas,
  buildFakeCublasLt,
  buildFakeCusolver,
  buildFakeDriver,
} from '../../../cuda-runtime/test/fake-driver/build.mjs';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

/** Where NVRTC is looked for first: the environment's choice, else the workspace's own copy. */
const CUDA_HOME =
  process.env['MERCER_CUDA_HOME'] ?? fileURLToPath(new URL('../../../../.nvrtc', import.meta.url));
process.env['MERCER_CUDA_HOME'] = CUDA_HOME;
const missing = nvrtc.isAvailable()
  ? ''
  : ' (skipped: no NVRTC; set MERCER_CUDA_HOME or fill .nvrtc)';

let folder = '';
let env: NodeJS.ProcessEnv = {};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-fake-gpu-'));
  env = {
    MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(),
    MERCER_CUDA_HOME: CUDA_HOME,
    MERCER_DEVICE: '',
  };
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe.skipIf(missing !== '')(`with a driver whose kernels do nothing${missing}`, () => {
  it('doctor sees that the GPU computes nonsense, and works on the CPU', async () => {
    const found = (await mercerJson(['doctor'], env)) as {
      backends: { id: string; works: boolean; error?: string }[];
      cuda: { driver: { found: boolean; path: string }; nvrtc: { found: boolean } };
    };
    expect(found.cuda).toMatchObject({ driver: { found: true }, nvrtc: { found: true } });
    const works = new Map(found.backends.map(({ id, ...backend }) => [id, backend]));
    expect(works.get('cpu')).toMatchObject({ works: true });
    expect(works.get('cuda:0')).toMatchObject({ works: false });
    expect(works.get('cuda:0')?.error).toMatch(/\(0, 0\) and \(3, 4\) came out as/);
  });

  it('doctor finds the CUDA libraries of linear algebra, or says how to install them', async () => {
    const cublas = await buildFakeCublas();
    const found = {
      ...env,
      MERCER_CUDA_CUSOLVER_PATH: await buildFakeCusolver(),
      MERCER_CUDA_CUBLASLT_PATH: await buildFakeCublasLt(),
      MERCER_CUDA_CUBLAS_PATH: cublas,
    };
    expect(await mercerJson(['doctor'], found)).toMatchObject({
      cudaLibraries: {
        cusolver: { found: true, version: '12.0.4' },
        cublasLt: { found: true, version: '13.1.1' },
        cublas: { found: true, version: '13.1.1', path: cublas },
      },
    });
    const all = await mercer(['doctor'], found);
    expect(all.stdout).toContain(`cuBLAS     13.1.1  ${cublas}`);
    expect(all.stdout).not.toContain('Linear algebra on the GPU needs');
    const without = { ...found, MERCER_CUDA_CUBLAS_PATH: '/nonexistent/libcublas.so.13' };
    const { stdout } = await mercer(['doctor'], without);
    expect(stdout).toContain('Linear algebra on the GPU needs cuSOLVER, cuBLASLt and cuBLAS');
  });

  it('bench limits brackets every loop with events', async () => {
    const report = (await mercerJson(['bench', 'limits', '--device', 'cuda:0'], env)) as {
      limits: { limit: string; ms: { count: number }; bytesPerSecond?: number }[];
    };
    const names = report.limits.map(({ limit }) => limit);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['fp32-add-fma', 'fp32-add-max', 'fp32-power-special'],
        ...['fp64-add-max', 'copy', 'launch'],
      ]),
    );
    for (const { ms } of report.limits) expect(ms.count).toBeGreaterThanOrEqual(9);
    expect(report.limits.filter(({ bytesPerSecond }) => bytesPerSecond !== undefined).length).toBe(
      1,
    );
  });

  it('profile takes its records from the device and names it in the trace', async () => {
    const [a, trace] = [join(folder, 'a.npy'), join(folder, 'trace.json')];
    await writeNpy(a, { data: new Float32Array(64), shape: [8, 8] });
    const program = ['mercer', 'cdist', a, a, '--device', 'cuda:0', '--out', join(folder, 'd.npy')];
    const result = await mercerJson(['profile', '--no-limits', '--trace', trace, ...program], env);
    expect(result).toMatchObject({
      exitStatus: 0,
      launches: 1,
      kernels: [{ device: 'cuda:0', calls: 1 }],
    });
    expect(await readFile(trace, 'utf8')).toContain('"name":"cuda:0"');
  });
});
