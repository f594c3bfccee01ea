import { test } from 'vitest';
import { devices } from './devices.js';
import { mapSuite } from './testing/map-suite.test-support.js';
import { sumToSuite } from './testing/sum-to-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  mapSuite(gpu.id, () => gpu, { whole: true });
  sumToSuite(gpu.id, () => gpu);
}
