/** What every package's tests run with. A package that needs more spreads this in its own vitest.config.ts. */
export const packageTests = {
  include: ['src/**/*.test.ts'],
  /** Addons load once per process; a fork per file keeps their state apart. */
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  /** A test that asserts nothing fails. */
  expect: { requireAssertions: true },
  typecheck: { enabled: true, include: ['src/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
};
