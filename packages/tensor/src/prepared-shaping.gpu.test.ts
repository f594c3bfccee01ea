import { describe, test } from 'vitest';
import { devices } from './index.js';
import { preparedShapingSuite } from './testing/prepared-shaping-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  describe(`prepared calls that move elements on ${gpu.id}`, () => {
    preparedShapingSuite(() => gpu);
  });
}
