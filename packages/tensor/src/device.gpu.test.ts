import { expect, test } from 'vitest';
import { devices } from './devices.js';
import { deviceSuite } from './test-support/device-suite.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

test.skipIf(gpus.length > 0)('no CUDA device: GPU tests are skipped', () => {
  expect(gpus).toEqual([]);
});

for (const gpu of gpus) deviceSuite(gpu.id, () => gpu);
