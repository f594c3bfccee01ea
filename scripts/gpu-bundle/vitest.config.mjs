// Runs the compiled tests of the bundle: MERCER_BUNDLE_TESTS is 'gpu' (every *.gpu.test.js) or 'cpu' (the smoke part, and
// the GPU tests too, which must load and skip themselves where there is no device).
import { defineConfig } from 'vitest/config';

const gpuTests = ['packages/*/dist/**/*.gpu.test.js'];
const smokeTests = ['scripts/gpu-bundle/smoke.test.mjs'];

export default defineConfig({
  test: {
    include: process.env.MERCER_BUNDLE_TESTS === 'cpu' ? [...smokeTests, ...gpuTests] : gpuTests,
    pool: 'forks',
    // Only the tests go through vitest's transformer; the packages load as they do for a user.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\/(?!.*\.test\.js$)/] } },
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    passWithNoTests: false,
    reporters: ['default', './scripts/lib/count-reporter.mjs'],
  },
});
