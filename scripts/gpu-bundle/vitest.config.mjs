// Runs the compiled tests of the bundle: MERCER_BUNDLE_TESTS is 'gpu' (every *.gpu.test.js) or 'cpu' (the smoke part, and
// the GPU tests too, which must load and skip themselves where there is no device).
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const gpuTests = ['packages/*/dist/**/*.gpu.test.js'];
const smokeTests = ['scripts/gpu-bundle/smoke.test.mjs'];

/** These watch the event loop's delay, or the device's free memory: nothing else may run beside them. */
const alone = [
  'packages/cuda-runtime/dist/device.gpu.test.js',
  'packages/tensor/dist/large.gpu.test.js',
  'packages/pairwise/dist/cdist.gpu.test.js',
  'packages/linalg/dist/matmul.gpu.test.js',
  'packages/linalg/dist/linalg.gpu.test.js',
  'packages/lazy/dist/memory.gpu.test.js',
];

const shared = {
  pool: /** @type {const} */ ('forks'),
  // Only the tests go through vitest's transformer; the packages load as they do for a user.
  server: { deps: { external: [/\/packages\/[^/]+\/dist\/(?!.*\.test\.js$)/] } },
  setupFiles: ['./scripts/lib/typed-arrays-equal.mjs'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    passWithNoTests: false,
    reporters: ['default', './scripts/lib/count-reporter.mjs'],
    projects: [
      {
        test: {
          ...shared,
          name: 'together',
          include:
            process.env.MERCER_BUNDLE_TESTS === 'cpu' ? [...smokeTests, ...gpuTests] : gpuTests,
          exclude: alone,
          // their time goes into NVRTC
          maxWorkers: Math.max(2, Math.floor(0.75 * availableParallelism())),
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'alone',
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
