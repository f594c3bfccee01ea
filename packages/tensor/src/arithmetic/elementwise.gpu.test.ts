import { describe, test } from 'vitest';
import { devices } from '../index.js';
import { elementwiseSuite } from './elementwise-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`elementwise operations on ${gpu.id}`, () => {
    elementwiseSuite(() => gpu, { whole: true });
  });
}
