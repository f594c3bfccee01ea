import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { countGpuTests, hasNvidiaDevice } from './scripts/lib/gpu-tests.mjs';
import { packageTests, projectsOf } from './vitest.shared.js';

const packages = readdirSync('packages').flatMap(projectsOf);

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
    projects: [...packages, scripts, types],
    reporters: ['default', ['./scripts/lib/count-reporter.mjs', { leftOut }]],
  },
});
