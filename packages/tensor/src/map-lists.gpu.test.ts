import { test } from 'vitest';
import { devices } from './devices.js';
import { mapListsSuite } from './testing/map-lists-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) mapListsSuite(gpu.id, () => gpu);
