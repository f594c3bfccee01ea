// Writes the packages with precompiled kernels, so that the first call of a usual kernel needs no compiler: @mercer/kernels-cuda with
// cubins, and @mercer/kernels-<platform> with object code. `mercer cache warm --usual` compiles them as a user's program does: for a GPU
// behind a driver that computes nothing but says that it is such a chip, for the CPU at each level of instructions. What is compiled
// goes into a store of its own, and `mercer cache export` writes it. A package without its compiler is left out, which is no error for
// users. `node scripts/release/kernel-packages.mjs FOLDER [few]` writes them alone.
import {
  mkdirSync,
  mkdtempSync,
  copyFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { currentPlatform } from '../lib/platform.mjs';
import { run } from '../lib/shell.mjs';
import { importPackage, readJson, root } from '../lib/workspace.mjs';

/** The package that looks for them, whose version they have. */
const OWNER = '@mercer/jit-cache';

/**
 * A chip of each architecture, by what the driver says of it: multiprocessors (attribute 16), bytes of shared memory that a block may have
 * (97) and that a multiprocessor has (81), bytes of the second-level cache (38). CUDA C++ Programming Guide, table of technical
 * specifications per compute capability, and the data sheets. Plans for other chips of an architecture mostly have the same texts.
 * @type {readonly { name: string, capability: number, multiprocessors: number, block: number, multiprocessor: number, l2: number }[]}
 */
const CHIPS = [
  { name: 'A100', capability: 80, multiprocessors: 108, block: 163, multiprocessor: 164, l2: 40 },
  { name: 'A10', capability: 86, multiprocessors: 72, block: 99, multiprocessor: 100, l2: 6 },
  { name: 'L40S', capability: 89, multiprocessors: 142, block: 99, multiprocessor: 100, l2: 96 },
  { name: 'H200', capability: 90, multiprocessors: 132, block: 227, multiprocessor: 228, l2: 50 },
  { name: 'B200', capability: 100, multiprocessors: 148, block: 227, multiprocessor: 228, l2: 126 },
  {
    name: 'RTX 5090',
    capability: 120,
    multiprocessors: 170,
    block: 99,
    multiprocessor: 100,
    l2: 96,
  },
];
const FEW_CHIPS = CHIPS.filter(({ capability }) => capability === 90);

/** Plans look at the number of threads. */
const THREADS = [2, 4, 8, 16, 32];
const FEW_THREADS = [2];

/** Where cuda-runtime has an addon, which alone can load cubins. */
const CUDA_HOSTS = { os: ['linux'], cpu: ['x64', 'arm64'], libc: ['glibc'] };

/** @typedef {'all' | 'few'} Extent */

/** Fills a store by the command, and writes what is in it.
 * @param {string} folder @param {Extent} extent @param {readonly Record<string, string>[]} machines */
function warmed(folder, extent, machines) {
  const store = mkdtempSync(path.join(tmpdir(), 'mercer-kernels-'));
  const mercer = (/** @type {string[]} */ args, /** @type {Record<string, string>} */ env) =>
    run(process.execPath, [path.join(root, 'packages/cli/bin/mercer.js'), ...args, '--json'], {
      env: {
        ...process.env,
        MERCER_CACHE: 'rw',
        MERCER_KERNELS: 'off',
        MERCER_CPU: 'compiled',
        ...env,
      },
    });
  try {
    for (const { device, ...env } of machines) {
      mercer(['cache', 'warm', '--usual', extent, '--device', String(device), '--dir', store], env);
    }
    return JSON.parse(mercer(['cache', 'export', '--dir', store, '--out', folder], {}));
  } finally {
    rmSync(store, { recursive: true });
  }
}

async function fakeGpus(/** @type {Extent} */ extent) {
  const { buildFakeCublas, buildFakeCublasLt, buildFakeCusolver, buildFakeDriver } =
    await import('../../packages/cuda-runtime/test/fake-driver/build.mjs');
  const libraries = {
    MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(),
    MERCER_CUDA_CUSOLVER_PATH: await buildFakeCusolver(),
    MERCER_CUDA_CUBLASLT_PATH: await buildFakeCublasLt(),
    MERCER_CUDA_CUBLAS_PATH: await buildFakeCublas(),
    MERCER_CUDA_HOME: process.env.MERCER_CUDA_HOME ?? path.join(root, '.nvrtc'),
  };
  const chips = extent === 'few' ? FEW_CHIPS : CHIPS;
  return chips.map((chip) => ({
    ...libraries,
    device: 'cuda:0',
    MERCER_FAKE_CAPABILITY: String(chip.capability),
    MERCER_FAKE_TOTAL_BYTES: String(2 ** 34),
    MERCER_FAKE_ATTRIBUTE_16: String(chip.multiprocessors),
    MERCER_FAKE_ATTRIBUTE_97: String(chip.block * 1024),
    MERCER_FAKE_ATTRIBUTE_81: String(chip.multiprocessor * 1024),
    MERCER_FAKE_ATTRIBUTE_38: String(chip.l2 * 2 ** 20),
  }));
}

/** @param {Extent} extent @returns {Promise<Record<string, string>[]>} none where this machine has no compiler */
async function hostLevels(extent) {
  const { cpu } = await importPackage('cpu-runtime');
  if (cpu.report().compiler === undefined) return [];
  const { level } = cpu.info();
  const levels = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
  const own = levels.includes(level) ? levels.slice(0, levels.indexOf(level) + 1) : [level];
  return (extent === 'few' ? [level] : own).flatMap((one) =>
    (extent === 'few' ? FEW_THREADS : THREADS).map((threads) => ({
      device: 'cpu',
      MERCER_CPU_LEVEL: one,
      MERCER_CPU_THREADS: String(threads),
    })),
  );
}

async function hasNvrtc() {
  process.env.MERCER_CUDA_HOME ??= path.join(root, '.nvrtc');
  const { nvrtc } = await importPackage('cuda-runtime');
  return nvrtc.isAvailable();
}

/**
 * @param {string} target the folder in which packages are written
 * @param {Extent} extent
 * @returns {Promise<{ owner: string, name: string, version: string, directory: string }[]>}
 */
export async function writeKernelPackages(target, extent) {
  const { platform, arch, libc, suffix } = currentPlatform();
  const packages = [];
  if (await hasNvrtc()) {
    const name = 'kernels-cuda';
    const directory = path.join(target, name);
    const files = warmed(directory, extent, await fakeGpus(extent));
    packages.push(finish(directory, `@mercer/${name}`, 'GPUs', CUDA_HOSTS, files));
  }
  const levels = await hostLevels(extent);
  if (levels.length > 0) {
    const name = `kernels-${suffix}`;
    const directory = path.join(target, name);
    const files = warmed(directory, extent, levels);
    const os = {
      os: [platform],
      cpu: [arch],
      ...(libc && { libc: [libc === 'gnu' ? 'glibc' : 'musl'] }),
    };
    packages.push(finish(directory, `@mercer/${name}`, `the CPU (${suffix})`, os, files));
  }
  return packages;
}

/**
 * @param {string} directory @param {string} name @param {string} what @param {Record<string, string[]>} os
 * @param {readonly { target: string, file: string, kernels: number, bytes: number }[]} files
 */
function finish(directory, name, what, os, files) {
  const { version, license, engines, repository, publishConfig } = readJson(
    path.join(root, 'packages/jit-cache/package.json'),
  );
  const names = files.map(({ file }) => path.basename(file));
  const manifest = {
    name,
    version,
    description: `Precompiled kernels of Mercer for ${what}`,
    license,
    repository,
    engines,
    ...os,
    main: './index.cjs',
    files: ['index.cjs', ...names],
    publishConfig,
  };
  writeFileSync(path.join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(path.join(directory, 'index.cjs'), "'use strict';\nmodule.exports = __dirname;\n");
  copyFileSync(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
  const rows = files.map(
    ({ target, kernels, bytes }) => `- ${target}: ${kernels} kernels, ${bytes} bytes`,
  );
  writeFileSync(
    path.join(directory, 'README.md'),
    `# ${name}\n\nPrecompiled kernels for ${what}, so that first calls of usual operations need no compiler. An optional dependency of \`${OWNER}\`, which reads them; install that, not this.\n\n${rows.join('\n')}\n`,
  );
  return { owner: OWNER, name, version, directory };
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  const [, , folder = path.join(root, 'release/kernels'), extent = 'all'] = process.argv;
  mkdirSync(folder, { recursive: true });
  for (const { name, version, directory } of await writeKernelPackages(
    folder,
    extent === 'few' ? 'few' : 'all',
  )) {
    const bytes = readdirSync(directory).map((file) => statSync(path.join(directory, file)).size);
    console.log(
      `${name}@${version}  ${directory}  ${bytes.reduce((sum, one) => sum + one, 0)} bytes`,
    );
  }
}
