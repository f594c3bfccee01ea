import { test } from 'vitest';
import { devices } from '../devices.js';
import { totalsSuite } from './totals-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) totalsSuite(gpu.id, () => gpu);
