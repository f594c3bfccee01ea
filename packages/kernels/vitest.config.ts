import { defineConfig } from 'vitest/config';
import { packageTests, setupFiles } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/kernels',
    // No test changes what others see: a process loads the sources and the harness of kernels once for many files.
    isolate: false,
    // Random numbers begin anew in front of each file, so that they do not depend on what ran before it in its process.
    setupFiles: [...setupFiles, 'src/testing/restart-random.test-support.ts'],
  },
});
