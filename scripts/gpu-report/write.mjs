// On a GPU host: loads every default kernel on the devices present, runs every GPU test, and writes what held for which
// source to bench/results/gpu.json. CI compares that file with what the code emits now (check.mjs).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { countResults, readResults } from '../lib/test-results.mjs';
import { defaultKernels } from '../../packages/kernels/test/default-kernels.mjs';
import { importPackage, root } from '../lib/workspace.mjs';
import { defaultKernelHashes } from './default-kernel-hashes.mjs';

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'bench/results/gpu.json' } },
});

/** Runs the GPU tests of this checkout, or the compiled ones of a bundle; returns the summed counts. */
function runGpuTests() {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-results-'));
  const results = path.join(folder, 'results');
  try {
    const bundled = existsSync(path.join(root, 'vitest.config.mjs'));
    spawnSync(
      process.execPath,
      [
        path.join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        ...(bundled ? [] : ['.gpu.test.ts', '--no-file-parallelism']),
      ],
      {
        cwd: root,
        stdio: 'inherit',
        env: { ...process.env, MERCER_BUNDLE_TESTS: 'gpu', MERCER_TEST_RESULTS: results },
      },
    );
    if (!existsSync(results)) throw new Error('the GPU tests ended without results; see above');
    return countResults(readResults(readFileSync(results, 'utf8')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The driver's own version where its file name carries it (libcuda.so.580.65.06), else the CUDA version it speaks.
 * @param {{ path?: string, version?: string }} driver
 */
function driverVersion({ path: file = '', version = 'unknown' }) {
  return /\.so\.(\d+\.[\d.]+)$/.exec(file)?.[1] ?? version;
}

/**
 * Compiles every default kernel for the device and loads it there: the tests need not launch each of them.
 * @param {{ limits: any, load(kernel: unknown): Promise<unknown> }} gpu
 */
async function loadDefaultKernels(gpu) {
  const pending = [...defaultKernels(gpu.limits)];
  const loadNext = async () => {
    for (let next = pending.pop(); next; next = pending.pop()) await gpu.load(next.kernel);
  };
  await Promise.all(Array.from({ length: 16 }, loadNext));
}

const { cuda, nvrtc } = await importPackage('cuda-runtime');
const { devices } = await importPackage('tensor');
/** @type {{ kind: string, name: string, limits: any, load(kernel: unknown): Promise<unknown> }[]} */
const gpus = devices().filter((/** @type {{ kind: string }} */ device) => device.kind === 'cuda');
if (gpus.length === 0) {
  console.error(
    'gpu:report needs a CUDA device and found none. `mercer doctor` says what is missing.',
  );
  process.exit(1);
}

const byArch = new Map(gpus.map((gpu) => [gpu.limits.arch, gpu]));
const kernels = [];
for (const gpu of byArch.values()) {
  await loadDefaultKernels(gpu);
  kernels.push(...(await defaultKernelHashes(gpu.limits)));
}

const tests = runGpuTests();
const report = {
  format: 1,
  date: new Date().toISOString(),
  command: 'bash .gpu/run.sh report, or pnpm gpu:report',
  node: process.version,
  driver: driverVersion(cuda.report().driver),
  nvrtc: nvrtc.version(),
  devices: gpus.map(({ name }) => name),
  architectures: [...byArch.values()].map(({ name, limits }) => ({ device: name, limits })),
  tests,
  kernels,
};
const out = path.resolve(values.out);
mkdirSync(path.dirname(out), { recursive: true });
writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`);
console.log(
  `${kernels.length} kernels, ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped: ${out}`,
);
if (tests.failed > 0 || tests.skipped > 0 || tests.passed === 0) process.exitCode = 1;
