import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from '../cpu.js';
import { LapackNotFoundError } from '../errors.js';
import { lapackCandidates, openblasPackage } from './candidates.js';
import { lapack, type LapackReport } from './lapack.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-lapack-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a fresh process reports with this MERCER_BLAS. */
function reportWith(library: string): LapackReport {
  const script = `import { lapack } from ${JSON.stringify(join(root, 'dist/index.js'))};
    console.log(JSON.stringify(lapack.report()));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, MERCER_BLAS: library },
  });
  return JSON.parse(output) as LapackReport;
}

/** A library that has these symbols; dasum sums as one with such integers does, the others do nothing. */
async function fakeLibrary(
  name: string,
  suffix: string,
  integer: string,
  more: readonly string[] = [],
  prefix = '',
): Promise<string> {
  const table = readFileSync(join(root, 'native/linalg/lapack-symbols.inc'), 'utf8');
  const names = [...table.matchAll(/MERCER_LAPACK\((\w+), \(/g)].map((match) => match[1] ?? '');
  const symbols = names.flatMap((one) => [
    `${prefix}s${one}${suffix}`,
    `${prefix}d${one}${suffix}`,
  ]);
  const source = `
    ${[...symbols, ...more].map((one) => `extern "C" void ${one}() {}`).join('\n')}
    extern "C" double ${prefix}dasum${suffix}(const ${integer}* n, const double* x, const ${integer}*) {
      double sum = 0;
      for (${integer} i = 0; i < *n; ++i) sum += x[i];
      return sum;
    }`;
  const file = join(folder, `${name}.cc`);
  const library = join(folder, `lib${name}.so`);
  writeFileSync(file, source);
  const { path } = await cpu.findCompiler();
  execFileSync(path, ['-shared', '-fPIC', '-o', library, file]);
  return library;
}

describe('finding a library', () => {
  it('tells 32-bit from 64-bit integers by behaviour, whatever the names', async () => {
    const lp64 = await fakeLibrary('lp64', '_', 'int');
    const ilp64 = await fakeLibrary('ilp64', '_64_', 'long long');
    const unnamed = await fakeLibrary('unnamed', '_', 'long long');
    const plain = { found: true, source: 'MERCER_BLAS', vendor: 'LAPACK', attempts: [] };
    expect(reportWith(lp64)).toEqual({ ...plain, path: lp64, integerBits: 32 });
    expect(reportWith(ilp64)).toMatchObject({ found: true, path: ilp64, integerBits: 64 });
    expect(reportWith(unnamed)).toMatchObject({ found: true, path: unnamed, integerBits: 64 });
  });

  it('takes the names that carry a prefix, as in the wheels of scipy and numpy', async () => {
    const control = ['scipy_openblas_set_num_threads64_'];
    const wide = await fakeLibrary('scipy64', '_64_', 'long long', control, 'scipy_');
    const narrow = await fakeLibrary('scipy32', '_', 'int', [], 'scipy_');
    expect(reportWith(wide)).toMatchObject({ found: true, vendor: 'OpenBLAS', integerBits: 64 });
    expect(reportWith(narrow)).toMatchObject({ found: true, vendor: 'LAPACK', integerBits: 32 });
  });

  it('knows the vendor by how its threads are set', async () => {
    const vendors = [
      ['OpenBLAS', 'openblas_set_num_threads'],
      ['MKL', 'MKL_Set_Num_Threads'],
      ['BLIS', 'bli_thread_set_num_threads'],
    ] as const;
    for (const [vendor, symbol] of vendors) {
      const library = await fakeLibrary(vendor, '_', 'int', [symbol]);
      expect(reportWith(library)).toMatchObject({ found: true, vendor });
    }
  });

  it('says of a library without a routine which one it lacks', async () => {
    const file = join(folder, 'empty.cc');
    const library = join(folder, 'libempty.so');
    writeFileSync(file, 'extern "C" void dsyevd_() {}\nextern "C" double dasum_() { return 1; }');
    const { path } = await cpu.findCompiler();
    execFileSync(path, ['-shared', '-fPIC', '-o', library, file]);
    const report = reportWith(library);
    expect(report.found).toBe(false);
    expect(report.attempts).toEqual([{ path: library, error: 'it has no routine ssyevd_' }]);
    expect(report.remedy).toContain('MERCER_BLAS');
  });

  it('looks nowhere else when MERCER_BLAS names a file that is absent', () => {
    const { found, attempts } = reportWith('/nonexistent/libblas.so');
    expect(found).toBe(false);
    expect(attempts).toEqual([
      {
        path: '/nonexistent/libblas.so',
        error: expect.stringContaining('No such file') as string,
      },
    ]);
  });

  it("finds none with MERCER_BLAS=none, and a call's error says what to do", () => {
    expect(reportWith('none')).toMatchObject({
      found: false,
      attempts: [{ path: 'MERCER_BLAS', error: "it is 'none'" }],
    });
    const error = new LapackNotFoundError([{ path: 'x', error: 'y' }], 'install it');
    expect(error).toMatchObject({ code: 'LIBRARY_NOT_FOUND', remedy: 'install it' });
    expect(error.message).toContain('  - x: y\ninstall it');
  });

  it('tries the npm package first, then an environment, then the system', () => {
    mkdirSync(join(folder, 'lib'));
    const library = join(folder, 'lib/libmkl_rt.so.2');
    writeFileSync(library, '');
    const env = { CONDA_PREFIX: folder, MKLROOT: '/nonexistent', VIRTUAL_ENV: '' };
    const installed = lapackCandidates(env, (name) => `/modules/${name}/libblas.so`);
    expect(installed.candidates.slice(0, 3)).toEqual([
      { path: `/modules/${openblasPackage()}/libblas.so`, source: 'package' },
      { path: library, source: 'environment' },
      { path: 'libopenblas.so.0', source: 'system' },
    ]);
    expect(installed.attempts).toEqual([]);

    const left = lapackCandidates({ MERCER_BLAS: '' }, () => undefined);
    expect(left.candidates[0]).toEqual({ path: 'libopenblas.so.0', source: 'system' });
    expect(left.candidates.map(({ path }) => path)).toContain('liblapack.so.3');
    expect(left.attempts).toEqual([{ path: openblasPackage(), error: 'it is not installed' }]);
    expect(openblasPackage()).toMatch(/^@mercer\/openblas-linux-(x64|arm64)-(gnu|musl)$/);
  });

  it('asks for nothing else where MERCER_BLAS decides', () => {
    const resolve = (): string => '/modules/libblas.so';
    expect(lapackCandidates({ MERCER_BLAS: '/x/libblas.so' }, resolve)).toEqual({
      candidates: [{ path: '/x/libblas.so', source: 'MERCER_BLAS' }],
      attempts: [],
    });
    expect(lapackCandidates({ MERCER_BLAS: 'none' }, resolve).candidates).toEqual([]);
  });
});

describe.skipIf(!lapack.isAvailable())('a routine', () => {
  const params = (fn: { paramBytes: number | undefined }): Uint8Array =>
    new Uint8Array(fn.paramBytes ?? 0);
  const none = { tasks: 0, chunk: 1, scratchBytes: 0 };

  it('is found by name, with the size of its parameters', () => {
    const fn = cpu.builtin('solve_cholesky_float64');
    // Six batch extents, four matrices of pointer, four numbers and six strides, infos, a flag.
    expect(fn.paramBytes).toBe(8 * (6 + 4 * 11 + 2));
    expect(() => cpu.builtin('solve_everything')).toThrow(
      expect.objectContaining({ code: 'SYMBOL_NOT_FOUND' }),
    );
  });

  it('keeps the symbols of its library to itself', async () => {
    // { const char* name; void* address }: what other addons of the process would find under a name
    const source = `
      #include <stdint.h>
      extern "C" void* dlsym(void*, const char*);
      extern "C" void find(const void* raw, int64_t, int64_t, void*) {
        struct Args { const char* name; void** address; };
        const Args& args = *static_cast<const Args*>(raw);
        *args.address = dlsym(nullptr, args.name);
      }`;
    const { binary } = await cpu.compile({ source, level: cpu.info().level });
    const find = cpu.loadModule(binary).function('find', { paramBytes: 16 });
    const visible = async (name: string): Promise<boolean> => {
      const [text, address] = [cpu.allocate(64), cpu.allocate(8)];
      new Uint8Array(text.arrayBuffer, text.byteOffset, 64).set(Buffer.from(`${name}\0`));
      const args = new BigUint64Array([text.address, address.address]);
      const stream = cpu.createStream();
      find.launch({ ...none, tasks: 1 }, stream, new Uint8Array(args.buffer), [text, address]);
      await stream.whenDone();
      return new BigUint64Array(address.arrayBuffer, address.byteOffset, 1)[0] !== 0n;
    };
    expect(await visible('malloc')).toBe(true); // the question is the right one
    for (const prefix of ['', 'scipy_'])
      for (const suffix of ['_', '_64_']) {
        expect(await visible(`${prefix}dpotrf${suffix}`)).toBe(false);
        expect(await visible(`${prefix}openblas_set_num_threads${suffix}`)).toBe(false);
      }
    for (const name of ['openblas_fork_handler', 'blas_memory_alloc', '_gfortran_set_args'])
      expect(await visible(name)).toBe(false);
  });

  it('refuses parameters of another size', () => {
    const fn = cpu.builtin('gemm_float32');
    const stream = cpu.createStream();
    expect(() => fn.launch(none, stream, new Uint8Array(8))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  it('runs on a stream, also with nothing to do', async () => {
    const fn = cpu.builtin('gemm_float32');
    const stream = cpu.createStream();
    fn.launch(none, stream, params(fn));
    await expect(stream.whenDone()).resolves.toBeUndefined();
  });
});
