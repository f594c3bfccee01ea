import { devices } from '@mercer/tensor';
import { test } from 'vitest';
import { solveSuite } from './testing/solve-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) solveSuite(gpu.id, () => gpu);
