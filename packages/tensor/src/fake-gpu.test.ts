import { beforeAll } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { useNvrtc } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { device } from './devices.js';
import { deviceSuite } from './test-support/device-suite.js';

beforeAll(async () => {
  useNvrtc();
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
});

deviceSuite('a GPU behind the fake driver', () => device('cuda:0'));
