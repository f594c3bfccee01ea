import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/tensor',
    // Sweeps and timings: one file at a time on a small machine.
    fileParallelism: false,
  },
});
