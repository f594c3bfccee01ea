import { defineConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

export default defineConfig({
  test: {
    ...packageTests,
    name: '@mercer/formula',
    // No test changes what others see: a process loads the sources once for many files.
    isolate: false,
    // The test of the intern table collects garbage on demand.
    execArgv: ['--expose-gc'],
  },
});
