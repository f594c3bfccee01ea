import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

const INSTALLED = fileURLToPath(
  new URL('../../node_modules/.cache/installed/node_modules/@mercer/cli', import.meta.url),
);

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/cli',
    // The commands run as they are installed.
    globalSetup: ['../../scripts/lib/installed.mjs'],
    env: { ...packageTests.env, MERCER_TEST_CLI: INSTALLED },
  },
});
