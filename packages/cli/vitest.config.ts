import { defineConfig } from 'vitest/config';
import { packageTests, withInstalled } from '../../vitest.shared.js';

export default defineConfig({
  test: { ...packageTests, ...withInstalled, name: '@mercer/cli' },
});
