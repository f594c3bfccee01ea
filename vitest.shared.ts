import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** What every package's tests run with. A package that needs more spreads this in its own vitest.config.ts. */
export const packageTests = {
  include: ['src/**/*.test.ts'],
  /** Addons load once per process; a fork per file keeps their state apart. */
  pool: 'forks' as const,
  /** Tests are of compiled kernels, or of the executor that the run names: not of whichever is ready first (docs/adr/0027). */
  env: { MERCER_CPU: process.env['MERCER_CPU'] || 'compiled' },
  /** Three at least: part of a file's time it waits for compilers, processes and timers. */
  maxWorkers: Math.max(3, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  /** A test that asserts nothing fails. */
  expect: { requireAssertions: true },
  /** Other packages load as they do for a user: only this package's sources go through the transformer. */
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
};

/** For packages whose tests start processes over the packages as they are installed, `MERCER_TEST_INSTALLED`: spread after the above. */
export const withInstalled = {
  globalSetup: [join(import.meta.dirname, 'scripts/lib/installed.mjs')],
  env: {
    ...packageTests.env,
    MERCER_TEST_INSTALLED: join(
      import.meta.dirname,
      'node_modules/.cache/installed/node_modules/@mercer',
    ),
  },
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
