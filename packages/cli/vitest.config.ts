import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/cli',
    // The commands run as they are installed.
    globalSetup: ['../../scripts/lib/installed.mjs'],
  },
});
