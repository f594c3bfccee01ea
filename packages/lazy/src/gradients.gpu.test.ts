import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeGradientOuts } from './gradient-outs-suite.test-support.js';
import { describeGradients } from './gradient-suite.test-support.js';
import { describeTableGradients } from './table-gradients-suite.test-support.js';
import { describeValueAndGradients } from './value-and-gradients-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('gradients of symbolic matrices on a GPU: no device');

for (const gpu of gpus) {
  describe(`gradients of symbolic matrices on ${gpu.id}`, () => {
    describeGradients(() => gpu);
    describeGradientOuts(() => gpu);
    describeTableGradients(() => gpu);
    describeValueAndGradients(() => gpu);
  });
}
