import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/formula',
    // The test of the intern table collects garbage on demand.
    execArgv: ['--expose-gc'],
  },
});
