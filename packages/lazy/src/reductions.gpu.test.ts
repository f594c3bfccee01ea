import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeRanges } from './ranges-suite.test-support.js';
import { describeReductions } from './reductions-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('reductions on a GPU: no device');

for (const gpu of gpus) {
  describe(`reductions on ${gpu.id}`, () => {
    describeReductions(() => gpu, { full: true });
    describeRanges(() => gpu, { full: true });
  });
}
