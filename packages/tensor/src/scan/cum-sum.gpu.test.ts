import { describe, test } from 'vitest';
import { devices } from '../index.js';
import { cumSumSuite } from './cum-sum-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`cumulative sums on ${gpu.id}`, () => {
    cumSumSuite(() => gpu);
  });
}
