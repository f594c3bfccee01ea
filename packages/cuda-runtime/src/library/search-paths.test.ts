import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  cublasLibrary,
  cublasLtLibrary,
  cusolverLibrary,
  driverCandidates,
  ncclLibrary,
  nvrtcLibrary,
  supportedMajors,
  toolkitCandidates,
} from './search-paths.js';

let root = '';
const make = (...parts: string[]): string => {
  const folder = join(root, ...parts);
  mkdirSync(folder, { recursive: true });
  return folder;
};
beforeAll(() => (root = mkdtempSync(join(tmpdir(), 'mercer-search-'))));
afterAll(() => rmSync(root, { recursive: true }));

const paths = (env: Record<string, string>, majors: readonly number[] = [13, 12]): string[] =>
  toolkitCandidates(nvrtcLibrary, env, majors).map(({ path, onlyIfLoaded }) =>
    onlyIfLoaded === true ? `loaded ${path}` : path,
  );

test('an exact file is the only candidate', () => {
  expect(paths({ MERCER_CUDA_NVRTC_PATH: '/x/libnvrtc.so.13', CUDA_HOME: '/y' })).toEqual([
    '/x/libnvrtc.so.13',
  ]);
});

test('the order: loaded, MERCER_CUDA_HOME, CUDA_PATH, CUDA_HOME, Python, conda, system', () => {
  const env = {
    MERCER_CUDA_HOME: make('mercer', 'lib64') && join(root, 'mercer'),
    CUDA_PATH: make('path', 'targets', 'x86_64-linux', 'lib') && join(root, 'path'),
    CUDA_HOME: make('home', 'lib') && join(root, 'home'),
    VIRTUAL_ENV:
      make('venv', 'lib', 'python3.12', 'site-packages', 'nvidia', 'cu13', 'lib') &&
      make('venv', 'lib', 'python3.12', 'site-packages', 'nvidia', 'cuda_nvrtc', 'lib') &&
      join(root, 'venv'),
    CONDA_PREFIX: make('conda', 'lib') && join(root, 'conda'),
  };
  const found = paths(env);
  const site = join(root, 'venv/lib/python3.12/site-packages/nvidia');
  expect(found.slice(0, 14)).toEqual([
    'loaded libnvrtc.so.13',
    'loaded libnvrtc.so.12',
    join(root, 'mercer/lib64/libnvrtc.so.13'),
    join(root, 'mercer/lib64/libnvrtc.so.12'),
    join(root, 'path/targets/x86_64-linux/lib/libnvrtc.so.13'),
    join(root, 'path/targets/x86_64-linux/lib/libnvrtc.so.12'),
    join(root, 'home/lib/libnvrtc.so.13'),
    join(root, 'home/lib/libnvrtc.so.12'),
    join(site, 'cu13/lib/libnvrtc.so.13'),
    join(site, 'cuda_nvrtc/lib/libnvrtc.so.12'),
    join(root, 'conda/lib/libnvrtc.so.13'),
    join(root, 'conda/lib/libnvrtc.so.12'),
    'libnvrtc.so.13',
    'libnvrtc.so.12',
  ]);
});

test('a folder filled by pip --target serves as MERCER_CUDA_HOME', () => {
  make('pip', 'nvidia', 'cu13', 'lib');
  expect(paths({ MERCER_CUDA_HOME: join(root, 'pip') })).toContain(
    join(root, 'pip/nvidia/cu13/lib/libnvrtc.so.13'),
  );
});

test('relative folders are never searched', () => {
  const found = paths({ MERCER_CUDA_HOME: 'toolkit', CONDA_PREFIX: '.', VIRTUAL_ENV: 'venv' });
  expect(found.filter((path) => path.includes('toolkit') || path.startsWith('.'))).toEqual([]);
});

test('no bare .so of an unknown major and no CUDA 11', () => {
  for (const path of paths({})) expect(path).toMatch(/libnvrtc\.so\.1[23]$/);
});

test('a toolkit newer than the driver comes last', () => {
  expect(supportedMajors(12)).toEqual([12, 13]);
  expect(supportedMajors(13)).toEqual([13, 12]);
  expect(supportedMajors(undefined)).toEqual([13, 12]);
});

test('the driver: never a bare libcuda.so, an exact file alone', () => {
  for (const { path } of driverCandidates({})) expect(path).toMatch(/libcuda\.so\.1$/);
  expect(driverCandidates({ MERCER_CUDA_DRIVER_PATH: '/d/libcuda.so.1' })).toEqual([
    { path: '/d/libcuda.so.1' },
  ]);
});

test('cuSOLVER, cuBLASLt, cuBLAS and NCCL: sonames and folders of their toolkits', () => {
  const site = make('math', 'lib', 'python3.12', 'site-packages', 'nvidia');
  for (const name of ['cu13', 'cusolver', 'cublas', 'nccl']) {
    make('math', 'lib', 'python3.12', 'site-packages', 'nvidia', name, 'lib');
  }
  const env = { VIRTUAL_ENV: join(root, 'math') };
  const files = (library: typeof nvrtcLibrary): string[] =>
    toolkitCandidates(library, env, [13, 12])
      .map(({ path }) => path)
      .slice(0, 6);
  expect(files(cusolverLibrary)).toEqual([
    'libcusolver.so.12',
    'libcusolver.so.11',
    join(site, 'cu13/lib/libcusolver.so.12'),
    join(site, 'cusolver/lib/libcusolver.so.11'),
    'libcusolver.so.12',
    'libcusolver.so.11',
  ]);
  expect(files(cublasLtLibrary).slice(2, 4)).toEqual([
    join(site, 'cu13/lib/libcublasLt.so.13'),
    join(site, 'cublas/lib/libcublasLt.so.12'),
  ]);
  expect(files(cublasLibrary).slice(0, 4)).toEqual([
    'libcublas.so.13',
    'libcublas.so.12',
    join(site, 'cu13/lib/libcublas.so.13'),
    join(site, 'cublas/lib/libcublas.so.12'),
  ]);
  const nccl = files(ncclLibrary);
  expect(nccl.slice(0, 2)).toEqual(['libnccl.so.2', join(site, 'nccl/lib/libnccl.so.2')]);
});
