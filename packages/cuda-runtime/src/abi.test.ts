import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const native = join(import.meta.dirname, '../native');
const folders = [process.env['MERCER_CUDA_HOME'], process.env['CUDA_HOME'], '/usr/local/cuda']
  .filter((home) => home !== undefined)
  .flatMap((home) => [
    join(home, 'include'),
    join(home, 'nvidia/cu13/include'),
    join(home, 'nvidia/nccl/include'),
  ]);
const folderOf = (header: string): string | undefined =>
  folders.find((folder) => existsSync(join(folder, header)));
const include = folderOf('cuda.h');
const solverIncludes = ['cuda.h', 'cusolverDn.h', 'cublasLt.h', 'cublas_v2.h'].map(folderOf);

/** Base and exported names of the symbol table. */
const symbols = [
  ...readFileSync(join(native, 'core/driver_symbols.inc'), 'utf8').matchAll(
    /^MERCER_DRIVER\((\w+), "(\w+)"/gm,
  ),
].map(([, base, exported]) => ({ base: base ?? '', exported: exported ?? '' }));

test('the symbol table holds each driver function once', () => {
  expect(symbols.length).toBeGreaterThan(60);
  expect(new Set(symbols.map(({ base }) => base)).size).toBe(symbols.length);
  for (const { base, exported } of symbols) expect(exported.replace(/_v\d$/, '')).toBe(base);
});

test.skipIf(include === undefined)(
  'declared types, constants and signatures equal those of cuda.h (skipped only without CUDA headers)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mercer-abi-'));
    try {
      const names = join(folder, 'names.h');
      writeFileSync(
        names,
        symbols
          .map(({ base, exported }) => `#define MERCER_HEADER_${base} ::${exported}`)
          .join('\n'),
      );
      const compile = (extra: readonly string[]): Promise<unknown> =>
        promisify(execFile)(process.env['CXX'] ?? 'c++', [
          ...[
            '-std=c++17',
            '-fsyntax-only',
            `-I${include ?? ''}`,
            `-DMERCER_HEADER_NAMES="${names}"`,
          ],
          ...extra,
          join(native, 'check/abi_check.cc'),
        ]);
      await compile([]);
      // The check itself must be able to fail: a wrong function behind one name.
      const text = readFileSync(names, 'utf8');
      writeFileSync(
        names,
        text
          .replace('::cuMemGetInfo_v2', '::cuMemAlloc_v2')
          .replace('::cuStreamQuery', '::cuLaunchHostFunc'),
      );
      await expect(compile([])).rejects.toThrow('cuStreamQuery');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);

test('the symbol tables of cuSOLVER, cuBLASLt, cuBLAS and NCCL hold each function once', () => {
  for (const [table, macro] of [
    ['cusolver', 'MERCER_CUSOLVER'],
    ['cublaslt', 'MERCER_CUBLASLT'],
    ['cublas', 'MERCER_CUBLAS'],
    ['nccl', 'MERCER_NCCL'],
  ] as const) {
    const text = readFileSync(join(native, `core/${table}_symbols.inc`), 'utf8');
    const names = [...text.matchAll(new RegExp(`^${macro}\\((\\w+), (true|false), `, 'gm'))];
    expect(names.length).toBeGreaterThan(10);
    expect(new Set(names.map(([, name]) => name)).size).toBe(names.length);
  }
});

test.skipIf(solverIncludes.includes(undefined))(
  'declarations of cuSOLVER, cuBLASLt and cuBLAS equal those of their headers (skipped only without the headers)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mercer-abi-'));
    try {
      const check = (root: string): Promise<unknown> =>
        promisify(execFile)(process.env['CXX'] ?? 'c++', [
          ...['-std=c++17', '-fsyntax-only'],
          ...solverIncludes.map((path) => `-I${path ?? ''}`),
          join(root, 'check/abi_check_solvers.cc'),
        ]);
      await check(native);
      // The check itself must be able to fail: a parameter less, and another number.
      cpSync(native, folder, { recursive: true });
      const table = join(folder, 'core/cusolver_symbols.inc');
      const text = readFileSync(table, 'utf8');
      writeFileSync(table, text.replace('Status(Handle, cu::CUstream)', 'Status(Handle)'));
      await expect(check(folder)).rejects.toThrow('cusolverDnSetStream');
      writeFileSync(table, text);
      const calls = join(folder, 'core/cublas_symbols.inc');
      const declared = readFileSync(calls, 'utf8');
      writeFileSync(
        calls,
        declared.replace('Status(Handle, void*, size_t)', 'Status(Handle, void*, int)'),
      );
      await expect(check(folder)).rejects.toThrow('cublasSetWorkspace_v2');
      writeFileSync(calls, declared);
      const types = join(folder, 'core/cublaslt_types.h');
      writeFileSync(
        types,
        readFileSync(types, 'utf8').replace('kComputeTf32 = 77', 'kComputeTf32 = 78'),
      );
      await expect(check(folder)).rejects.toThrow('kComputeTf32');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);

const ncclIncludes = ['nccl.h', 'cuda_runtime.h'].map(folderOf);

test.skipIf(ncclIncludes.includes(undefined))(
  'declared types, constants and signatures equal those of NCCL (skipped only without its headers)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mercer-abi-'));
    try {
      const check = (root: string): Promise<unknown> =>
        promisify(execFile)(process.env['CXX'] ?? 'c++', [
          ...['-std=c++17', '-fsyntax-only'],
          ...ncclIncludes.map((path) => `-I${path ?? ''}`),
          join(root, 'check/abi_check_nccl.cc'),
        ]);
      await check(native);
      // The check itself must be able to fail: a parameter less, and another number.
      cpSync(native, folder, { recursive: true });
      const table = join(folder, 'core/nccl_symbols.inc');
      const text = readFileSync(table, 'utf8');
      writeFileSync(table, text.replace('Result(Comm, Result*)', 'Result(Comm)'));
      await expect(check(folder)).rejects.toThrow('ncclCommGetAsyncError');
      writeFileSync(table, text);
      const types = join(folder, 'core/nccl_types.h');
      writeFileSync(types, readFileSync(types, 'utf8').replace('kBfloat16 = 9', 'kBfloat16 = 10'));
      await expect(check(folder)).rejects.toThrow('kBfloat16');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);
