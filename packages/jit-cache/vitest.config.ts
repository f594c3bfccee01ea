import { defineConfig } from 'vitest/config';
import { packageTestsAlone } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTestsAlone,
    name: '@mercer/jit-cache',
    // Tests of several processes run the built files.
    globalSetup: ['./vitest.global-setup.ts'],
  },
});
