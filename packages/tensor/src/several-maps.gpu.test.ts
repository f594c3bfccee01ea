import { test } from 'vitest';
import { devices } from './devices.js';
import { severalMapsSuite } from './testing/several-maps-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) severalMapsSuite(gpu.id, () => gpu);
