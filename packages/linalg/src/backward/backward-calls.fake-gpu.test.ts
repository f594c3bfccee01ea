import { device } from '@mercer/tensor';
import { beforeAll, describe } from 'vitest';
import { useFakeDriver, useFakeSolvers } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { backwardCallsSuite } from './backward-calls-suite.test-support.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
});

describe.skipIf(!nvrtcFound())('behind the fake driver (skipped only without NVRTC)', () => {
  // which runs no kernels, so that nothing is said of numbers
  backwardCallsSuite('on a GPU', () => device('cuda:0'), {
    hasNumbers: false,
    dtypes: ['float32'],
  });
});
