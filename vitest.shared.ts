import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { hasNvidiaDevice } from './scripts/lib/gpu-tests.mjs';
import { workspacePackages } from './scripts/lib/workspace.mjs';

const installed = join(import.meta.dirname, 'node_modules/.cache/installed/node_modules');

/** What a package's exports name, and the file that each is where the package is installed. */
const installedEntries = workspacePackages().flatMap(({ name, manifest }) =>
  Object.entries<{ default?: string }>(manifest.exports).flatMap(([entry, { default: file }]) =>
    file === undefined
      ? []
      : [
          {
            find: new RegExp(`^${name}${entry.slice(1)}$`),
            replacement: join(installed, name, file),
          },
        ],
  ),
);

/** Set-up files of every package's tests. */
export const setupFiles = [join(import.meta.dirname, 'scripts/lib/typed-arrays-equal.mjs')];

/** What every package's tests run with. A package that needs more spreads this in its own vitest.config.ts. */
export const packageTests = {
  /** Without a device GPU tests would load everything and skip themselves; the reporter counts their files. */
  include: [hasNvidiaDevice ? 'src/**/*.test.ts' : 'src/**/!(*.gpu).test.ts'],
  /** Addons load once per process; a fork per file keeps their state apart. */
  pool: 'forks' as const,
  /** Tests are of compiled kernels, or of the executor that the run names: not of whichever is ready first (docs/adr/0027). */
  env: {
    MERCER_CPU: process.env['MERCER_CPU'] || 'compiled',
    /** For tests that start processes over the packages. */
    MERCER_TEST_INSTALLED: join(installed, '@mercer'),
  },
  /** Three at least: part of a file's time it waits for compilers, processes and timers. */
  maxWorkers: Math.max(3, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
  setupFiles,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  /** A test that asserts nothing fails. */
  expect: { requireAssertions: true },
  /** Other packages load as a user has them, bundled, which takes a third of the time: only this package's sources go through the transformer. */
  alias: installedEntries,
  globalSetup: [join(import.meta.dirname, 'scripts/lib/installed.mjs')],
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
};

const COMPILER = join(import.meta.dirname, 'scripts/lib/lighter-compiler.sh');

/** For packages whose tests compile hundreds of kernels, but with MERCER_TEST_FULL=1: spread after the above. */
export const withLighterKernels = {
  env: {
    ...packageTests.env,
    ...(process.env['MERCER_TEST_FULL'] !== '1' && {
      CXX: `${COMPILER} ${process.env['CXX'] || 'c++'}`,
    }),
  },
};

/**
 * For packages whose suites hold on both executors of the CPU: a covering selection, each file on one of the two, unless the run names an
 * executor or MERCER_TEST_FULL=1 asks for all on compiled kernels.
 */
export const withEitherExecutor = {
  setupFiles:
    process.env['MERCER_CPU'] || process.env['MERCER_TEST_FULL'] === '1'
      ? setupFiles
      : [...setupFiles, join(import.meta.dirname, 'scripts/lib/executor-of-each-file.mjs')],
};
