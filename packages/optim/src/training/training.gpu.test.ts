import { devices } from '@mercer/tensor';
import { test } from 'vitest';
import { checkpointSuite } from './checkpoint-suite.test-support.js';
import { statesSuite } from './states-suite.test-support.js';
import { trainingSuite } from './training-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  for (const suite of [trainingSuite, statesSuite, checkpointSuite]) suite(gpu.id, () => gpu);
}
