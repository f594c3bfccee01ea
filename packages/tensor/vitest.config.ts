import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { packageTests, withEitherExecutor, withLighterKernels } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    ...withEitherExecutor,
    name: '@mercer/tensor',
    env: {
      ...withLighterKernels.env,
      // Not the user's cache.
      MERCER_CACHE_DIR: fileURLToPath(new URL('./node_modules/.cache/mercer', import.meta.url)),
    },
  },
});
