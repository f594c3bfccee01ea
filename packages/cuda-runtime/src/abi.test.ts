import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const native = join(import.meta.dirname, '../native');
const include = [process.env['MERCER_CUDA_HOME'], process.env['CUDA_HOME'], '/usr/local/cuda']
  .map((home) => (home === undefined ? '' : join(home, 'include')))
  .find((folder) => existsSync(join(folder, 'cuda.h')));

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
