import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/jit-cache',
    // Tests of several processes run the built files.
    globalSetup: [...packageTests.globalSetup, './vitest.global-setup.ts'],
  },
});
