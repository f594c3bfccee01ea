import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeCases } from './case.test-support.js';
import { describeKeopsRanges } from './block-sparse-suite.test-support.js';
import { complexCases } from './complex-cases.test-support.js';
import { contractionCases } from './contraction-cases.test-support.js';
import { functionCases } from './function-cases.test-support.js';
import { describeKeopsFormulas } from './formulas-suite.test-support.js';
import { describeKeopsGradients } from './gradients-suite.test-support.js';
import { describeKeopsJacobians } from './jacobians-suite.test-support.js';
import { describeKeopsLayouts } from './layouts-suite.test-support.js';
import { describeOperationGradients } from './operation-gradients-suite.test-support.js';
import { describeKeopsSymbolic } from './symbolic-suite.test-support.js';
import { vectorCases } from './vector-cases.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('KeOps tests on a GPU: no device');

for (const gpu of gpus) {
  describe(`KeOps tests on ${gpu.id}`, () => {
    describeCases('long vectors', () => gpu, vectorCases);
    describeCases('contractions', () => gpu, contractionCases);
    describeCases('functions', () => gpu, functionCases);
    describeCases('complex numbers', () => gpu, complexCases);
    describeKeopsFormulas(() => gpu);
    describeKeopsSymbolic(() => gpu);
    describeKeopsGradients(() => gpu);
    describeKeopsJacobians(() => gpu);
    describeOperationGradients(() => gpu, ['float32', 'float64']);
    describeKeopsLayouts(() => gpu);
    describeKeopsRanges(() => gpu);
  });
}
