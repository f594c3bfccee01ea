import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { countGpuTests, hasNvidiaDevice } from './scripts/lib/gpu-tests.mjs';
import { packageTests } from './vitest.shared.js';

/** Every package is one project: its own vitest.config.ts where it has one, else the shared settings. */
const projects = readdirSync('packages').map((folder) => {
  const root = `packages/${folder}`;
  return existsSync(`${root}/vitest.config.ts`)
    ? root
    : { root, test: { ...packageTests, name: `@mercer/${folder}` } };
});

/** The workspace's own scripts. */
const scripts = {
  root: 'scripts',
  test: {
    name: 'scripts',
    include: ['**/*.test.mjs'],
    exclude: ['gpu-bundle/smoke.test.mjs'],
    setupFiles: packageTests.setupFiles,
    maxWorkers: packageTests.maxWorkers,
    sequence: packageTests.sequence,
    testTimeout: 60_000,
  },
};

/** The type tests of every package, in one run of the compiler. */
const types = {
  test: {
    name: 'types',
    include: [],
    typecheck: {
      enabled: true,
      only: true,
      checker: join(import.meta.dirname, 'scripts/lib/check-type-tests.mjs'),
      include: ['packages/*/src/**/*.test-d.ts'],
      tsconfig: 'tsconfig.types.json',
    },
  },
};

const leftOut = hasNvidiaDevice ? undefined : `${countGpuTests()} files of GPU tests, no device`;

export default defineConfig({
  test: {
    projects: [...projects, scripts, types],
    reporters: ['default', ['./scripts/lib/count-reporter.mjs', { leftOut }]],
  },
});
