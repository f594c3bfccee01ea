import { describe, test } from 'vitest';
import { devices } from '../index.js';
import { indexingSuite } from './indexing-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`elements by index on ${gpu.id}`, () => {
    indexingSuite(() => gpu);
  });
}
