import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false, // some tests measure time
    testTimeout: 60_000,
  },
});
