import { it } from 'vitest';
import { devices } from './index.js';
import { preparedProgramsSuite } from './testing/prepared-programs-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) it.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) preparedProgramsSuite(gpu.id, () => gpu);
