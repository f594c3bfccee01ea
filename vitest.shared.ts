import { availableParallelism } from 'node:os';

/** What every package's tests run with. A package that needs more spreads this in its own vitest.config.ts. */
export const packageTests = {
  include: ['src/**/*.test.ts'],
  /** Addons load once per process; a fork per file keeps their state apart. */
  pool: 'forks' as const,
  /** Two at least: half of a file's time it waits for a compiler. */
  maxWorkers: Math.max(2, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  /** A test that asserts nothing fails. */
  expect: { requireAssertions: true },
  /** Other packages load as they do for a user: only this package's sources go through the transformer. */
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
};

/**
 * The same for packages whose tests watch the event loop, memory, processes or time: one file after the other, when all
 * others are done. A single file that does so in another package is named `*.stress.test.ts`.
 */
export const packageTestsAlone = {
  ...packageTests,
  fileParallelism: false,
  sequence: { groupOrder: 2 },
};
