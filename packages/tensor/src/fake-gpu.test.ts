import { beforeAll, describe } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { device } from './devices.js';
import { deviceSuite } from './testing/device-suite.test-support.js';

const hasNvrtc = nvrtcFound();

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
});

describe.skipIf(!hasNvrtc)('skipped only without NVRTC', () => {
  deviceSuite('a GPU behind the fake driver', () => device('cuda:0'));
});
