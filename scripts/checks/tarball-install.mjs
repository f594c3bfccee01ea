// Installs the packed packages into an empty project the way a user does, with install scripts off: the addons come as optional
// dependencies, where this Node needs them, and OpenBLAS. Computes a distance on the CPU through import and through require; its
// kernel must be kept on disk. Computes it once more without a compiler, by the precompiled kernels. Solves with OpenBLAS, then computes without it. TypeScript finds types from ES modules and CommonJS.
import { existsSync, mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { root } from '../lib/workspace.mjs';
import { lastPacked, packAll } from '../release/pack.mjs';

const EXPECTED = [0, 5, 5, 0];

const computation = `
  const a = await tensor([[0, 0], [3, 4]], { dtype: 'float32', device: 'cpu' });
  const d = await cdist(a, a, { p: 2 });
  const values = Array.from(await d.toTypedArray());
  if (JSON.stringify(values) !== '${JSON.stringify(EXPECTED)}') throw new Error('wrong distances: ' + values);
`;

const store = `
import { JitCache } from '@mercer/jit-cache';
const cache = JitCache.open();
const { state, driver, entries } = await cache.stats();
await cache.close();
const wanted = process.getBuiltinModule('node:sqlite') ? 'node:sqlite' : 'of @mercer/jit-cache';
if (state !== 'disk' || !driver.includes(wanted) || entries === 0) throw new Error(JSON.stringify({ state, driver, entries }));
console.log('kept on disk: ok (' + driver + ')');
`;

const programs = {
  'import.mjs': `import { cdist, tensor } from '@mercer/core';\n${computation}\nconsole.log('import: ok');\n`,
  'require.cjs': `const { cdist, tensor } = require('@mercer/core');\n(async () => {${computation}\nconsole.log('require: ok');\n})();\n`,
  'store.mjs': store,
};

/** Solves with the library in use, which must be that of the package, by its path in this project. */
const solve = `
  import { lapack, solveCholesky, tensor } from '@mercer/core';
  const { found, source, path } = lapack.report();
  if (!found || source !== 'package' || !path.includes('/node_modules/@mercer/openblas-'))
    throw new Error('not the LAPACK of the package: ' + JSON.stringify(lapack.report()));
  const a = await tensor([[4, 2], [2, 3]], { dtype: 'float64', device: 'cpu' });
  const b = await tensor([[8], [7]], { dtype: 'float64', device: 'cpu' });
  const solution = await solveCholesky(a, b);
  const x = Array.from(await solution.x.toTypedArray());
  if (Math.abs(x[0] - 1.25) + Math.abs(x[1] - 1.5) > 1e-12) throw new Error('wrong solution: ' + x);
  console.log('LAPACK of the package: ok');
`;

/** With the compiler out of reach: the kernel of the package, and once that is gone the interpreter. */
const precompiled = `
  import { configureJitCache, JitCache, tensor } from '@mercer/core';
  const cache = JitCache.open({ mode: 'off' });
  configureJitCache(cache);
  const a = await tensor([[0, 0, 0], [1, 2, 2]], { dtype: 'float32', device: 'cpu' });
  const sums = await (await a.add(a)).toTypedArray();
  if (sums.join() !== '0,0,0,2,4,4') throw new Error('wrong sums: ' + sums);
  const { bundleHits, compiles } = (await cache.stats()).counters;
  if (compiles !== 0 || bundleHits !== Number(process.env.WANTED_HITS))
    throw new Error('kernels of the package: ' + JSON.stringify({ bundleHits, compiles }));
  console.log('first call with ' + bundleHits + ' precompiled kernels, without a compiler: ok');
`;

/** The same classes on both ways in, and a stack that names functions. */
const identity = `
  import { createRequire } from 'node:module';
  import { MercerError, tensor } from '@mercer/core';
  const required = createRequire(process.cwd() + '/')('@mercer/core');
  const error = await required.tensor([[1], [1, 2]]).catch((reason) => reason);
  if (!(error instanceof MercerError) || required.tensor !== tensor) throw new Error('import and require have two copies');
  if (!/at \\w{3,} .*@mercer.tensor/.test(error.stack)) throw new Error('the stack names no function: ' + error.stack);
  console.log('one copy: ok');
`;

/** A worker thread of linalg computes where there is no LAPACK. */
const worker = `
  import { eigh, tensor } from '@mercer/core';
  const a = await tensor([[2, 1], [1, 2]], { dtype: 'float64', device: 'cpu' });
  const { values } = await eigh(a);
  const [low, high] = await values.toTypedArray();
  if (Math.abs(low - 1) + Math.abs(high - 3) > 1e-12) throw new Error('wrong eigenvalues: ' + [low, high]);
  console.log('eigenvalues in a worker: ok');
`;

const typed = `
import { cdist, tensor, type Tensor } from '@mercer/core';
import { readNpy } from '@mercer/core/npy';
import { readSafetensors } from '@mercer/core/safetensors';
export async function distances(): Promise<Tensor<'float32'>> {
  const a = await tensor([[0, 0], [3, 4]], { dtype: 'float32' });
  return cdist(a, a, { p: 2 });
}
// @ts-expect-error: what is imported has types
export const wrong: number = readNpy;
// @ts-expect-error: the same
export const wrongToo: number = readSafetensors;
`;

/** Under every setting with which TypeScript reads `exports`. */
const TYPE_SETTINGS = ['node16', 'node18', 'node20', 'nodenext'];
/** Packages of TypeScript 5 and 7. */
const COMPILERS = ['typescript', 'typescript-native'];

/** Without the package: what else there is, or what to do; and a distance all the same. */
const without = `
  import { cdist, lapack, tensor } from '@mercer/core';
  ${computation}
  const { found, source, attempts, remedy } = lapack.report();
  if (source === 'package' || !attempts.some(({ path }) => path.startsWith('@mercer/openblas-')))
    throw new Error('the missing package is not named: ' + JSON.stringify(lapack.report()));
  if (!found && !remedy.includes('npm install @mercer/openblas-')) throw new Error('no remedy: ' + remedy);
  console.log('without the package of LAPACK: ok, ' + (found ? 'found by way of the ' + source : 'and said what to do'));
`;

/** Without the native binary: WebAssembly, and one line that says so. */
const wasm = `
  import { cdist, cpu, tensor } from '@mercer/core';
  ${computation}
  const { level, attempts } = cpu.report();
  if (level !== 'wasm128' || !attempts.some(({ path }) => path.startsWith('@mercer/cpu-runtime-')))
    throw new Error('not WebAssembly: ' + JSON.stringify(cpu.report()));
  console.log('without the native binary, in WebAssembly: ok');
`;

const project = mkdtempSync(path.join(tmpdir(), 'mercer-user-'));
try {
  const packed = process.argv.includes('--reuse') ? lastPacked() : await packAll('few');
  const files = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  const manifest = {
    name: 'a-users-project',
    private: true,
    dependencies: Object.fromEntries(
      packed.filter(({ platform }) => !platform).map(({ name }) => [name, files[name]]),
    ),
    overrides: files,
  };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest, null, 2));
  const options = [
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  run('npm', ['install', ...options], { cwd: project });
  for (const { name } of packed.filter(({ platform }) => platform)) {
    const wanted = !name.includes('jit-cache') || !process.getBuiltinModule('node:sqlite');
    if (existsSync(path.join(project, 'node_modules', name)) !== wanted)
      throw new Error(`${name} was ${wanted ? 'not ' : ''}installed on Node ${process.version}`);
  }
  // Waits for compilers: a program that only interprets leaves nothing in the store.
  const env = {
    ...process.env,
    MERCER_CACHE_DIR: path.join(project, 'cache'),
    MERCER_CPU: 'compiled',
    MERCER_KERNELS: 'off',
  };
  for (const [file, text] of Object.entries(programs)) {
    writeFileSync(path.join(project, file), text);
    process.stdout.write(run(process.execPath, [file], { cwd: project, env }));
  }
  const module = (/** @type {string} */ text) =>
    run(process.execPath, ['--input-type=module', '-e', text], {
      cwd: project,
      env: { ...env, MERCER_BLAS: '' },
    });
  process.stdout.write(
    run(process.execPath, ['--input-type=module', '-e', identity], {
      cwd: project,
      env,
    }),
  );
  process.stdout.write(
    run(process.execPath, ['--input-type=module', '-e', worker], {
      cwd: project,
      env: { ...env, MERCER_BLAS: 'none' },
    }),
  );
  for (const file of ['typed.mts', 'typed.cts']) writeFileSync(path.join(project, file), typed);
  mkdirSync(path.join(project, 'node_modules/@types'), { recursive: true });
  symlinkSync(
    path.join(root, 'node_modules/@types/node'),
    path.join(project, 'node_modules/@types/node'),
  );
  for (const setting of TYPE_SETTINGS) {
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2023,esnext.disposable',
      '--types',
      'node',
    ];
    for (const compiler of COMPILERS) {
      run(
        process.execPath,
        [
          path.join(root, 'node_modules', compiler, 'bin/tsc'),
          ...[...options, '--module', setting, 'typed.mts', 'typed.cts'],
        ],
        { cwd: project },
      );
    }
  }
  console.log(`types from .mts and .cts: ok (${TYPE_SETTINGS.join(', ')}; TypeScript 5 and 7)`);
  const kernels = packed.find(({ name }) => /^@mercer\/kernels-(?!cuda)/.test(name));
  if (kernels) {
    const without = { MERCER_CPU: '', MERCER_KERNELS: '', CXX: '/no/compiler', PATH: '/no' };
    const once = (/** @type {string} */ hits) =>
      run(process.execPath, ['--input-type=module', '-e', precompiled], {
        cwd: project,
        env: { ...env, ...without, NODE_NO_WARNINGS: '1', WANTED_HITS: hits },
      });
    process.stdout.write(once('1'));
    rmSync(path.join(project, 'node_modules', kernels.name), { recursive: true });
    process.stdout.write(once('0'));
  }
  const openblas = packed.find(({ name }) => name.startsWith('@mercer/openblas-'));
  if (openblas) {
    process.stdout.write(module(solve));
    rmSync(path.join(project, 'node_modules', openblas.name), { recursive: true });
    process.stdout.write(module(without));
  }
  if (packed.some(({ name }) => name === '@mercer/cpu-runtime-wasm')) {
    for (const { name, platform } of packed) {
      if (platform && name.startsWith('@mercer/cpu-runtime-') && !name.endsWith('-wasm'))
        rmSync(path.join(project, 'node_modules', name), { recursive: true, force: true });
    }
    process.stdout.write(
      run(process.execPath, ['--input-type=module', '-e', wasm], {
        cwd: project,
        env: { ...env, MERCER_CPU: '' },
      }),
    );
  }
  const doctor = run(path.join(project, 'node_modules/.bin/mercer'), ['doctor', '--json'], {
    cwd: project,
  });
  JSON.parse(doctor);
  console.log(`mercer doctor: ok (${packed.length} tarballs, install scripts off)`);
} finally {
  rmSync(project, { recursive: true, force: true });
}
