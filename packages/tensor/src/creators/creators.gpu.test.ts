import { describe, test } from 'vitest';
import { devices } from '../index.js';
import { creatorsSuite } from './creators-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`creators on ${gpu.id}`, () => {
    creatorsSuite(() => gpu);
  });
}
