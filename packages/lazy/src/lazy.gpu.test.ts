import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeCallsAgain } from './calls-again-suite.test-support.js';
import { describeComplex } from './complex-suite.test-support.js';
import { describeOutDtypes } from './out-dtype-suite.test-support.js';
import { describeBadInput } from './bad-input-suite.test-support.js';
import { describeFastMath } from './fast-math-suite.test-support.js';
import { describeGather } from './gather-suite.test-support.js';
import { describeHistograms } from './histogram-suite.test-support.js';
import { describeJoint } from './joint-suite.test-support.js';
import { describeLayouts } from './layouts-suite.test-support.js';
import { describeMatrices } from './matrices-suite.test-support.js';
import { describeNonzero } from './nonzero-suite.test-support.js';
import { describeOperations } from './operations-suite.test-support.js';
import { describePairs } from './pairs-suite.test-support.js';
import { describePreparedAgain } from './prepared-suite.test-support.js';
import { describeRadialKernels } from './radial-kernels-suite.test-support.js';
import { describeThirdAxis } from './third-axis-suite.test-support.js';
import { describeRandomFormulas } from './random-formulas-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('symbolic matrices on a GPU: no device');

for (const gpu of gpus) {
  describe(`symbolic matrices on ${gpu.id}`, () => {
    describeJoint(() => gpu);
    describeOperations(() => gpu);
    describeNonzero(() => gpu);
    describeHistograms(() => gpu);
    describeLayouts(() => gpu);
    describeMatrices(() => gpu);
    describeGather(() => gpu);
    describePairs(() => gpu);
    describePreparedAgain(() => gpu);
    describeCallsAgain(() => gpu);
    describeRadialKernels(() => gpu);
    describeRandomFormulas(() => gpu, { trees: 40 });
    describeComplex(() => gpu);
    describeOutDtypes(() => gpu);
    describeFastMath(() => gpu);
    describeThirdAxis(() => gpu);
    describeBadInput(() => gpu);
  });
}
