import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeBadInput } from './bad-input-suite.test-support.js';
import { describeGather } from './gather-suite.test-support.js';
import { describeGradients } from './gradient-suite.test-support.js';
import { describeGradientOuts } from './gradient-outs-suite.test-support.js';
import { describeHistograms } from './histogram-suite.test-support.js';
import { describeJoint } from './joint-suite.test-support.js';
import { describeLayouts } from './layouts-suite.test-support.js';
import { describeMatrices } from './matrices-suite.test-support.js';
import { describeNonzero } from './nonzero-suite.test-support.js';
import { describeOperations } from './operations-suite.test-support.js';
import { describePreparedAgain } from './prepared-suite.test-support.js';
import { describeRadialKernels } from './radial-kernels-suite.test-support.js';
import { describeRandomFormulas } from './random-formulas-suite.test-support.js';
import { describeRanges } from './ranges-suite.test-support.js';
import { describeReductions } from './reductions-suite.test-support.js';
import { describeTableGradients } from './table-gradients-suite.test-support.js';
import { describeValueAndGradients } from './value-and-gradients-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('symbolic matrices on a GPU: no device');

for (const gpu of gpus) {
  describe(`symbolic matrices on ${gpu.id}`, () => {
    describeReductions(() => gpu, { full: true });
    describeJoint(() => gpu);
    describeOperations(() => gpu);
    describeNonzero(() => gpu);
    describeHistograms(() => gpu);
    describeLayouts(() => gpu);
    describeMatrices(() => gpu);
    describeGradients(() => gpu);
    describeGather(() => gpu);
    describeTableGradients(() => gpu);
    describeValueAndGradients(() => gpu);
    describeGradientOuts(() => gpu);
    describePreparedAgain(() => gpu);
    describeRadialKernels(() => gpu);
    describeRandomFormulas(() => gpu, { trees: 40 });
    describeRanges(() => gpu, { full: true });
    describeBadInput(() => gpu);
  });
}
