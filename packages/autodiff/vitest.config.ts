import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/autodiff',
    // Each rule runs on other small kernels: compiling them would take most of the time, and they have tests of their own.
    env: { ...packageTests.env, MERCER_CPU: process.env['MERCER_CPU'] || 'interpreted' },
  },
});
