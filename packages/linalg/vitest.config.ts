import { defineConfig } from 'vitest/config';
import { packageTests, withEitherExecutor, withLighterKernels } from '../../vitest.shared.js';

export default defineConfig({
  test: { ...packageTests, ...withLighterKernels, ...withEitherExecutor },
});
