import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeKeopsRanges } from './block-sparse-suite.test-support.js';
import { describeKeopsFormulas } from './formulas-suite.test-support.js';
import { describeKeopsGradients } from './gradients-suite.test-support.js';
import { describeKeopsJacobians } from './jacobians-suite.test-support.js';
import { describeKeopsLayouts } from './layouts-suite.test-support.js';
import { describeKeopsSymbolic } from './symbolic-suite.test-support.js';

describe('KeOps tests on the CPU', () => {
  describeKeopsFormulas(() => device('cpu'));
  describeKeopsSymbolic(() => device('cpu'));
  describeKeopsGradients(() => device('cpu'));
  describeKeopsJacobians(() => device('cpu'));
  describeKeopsLayouts(() => device('cpu'));
  describeKeopsRanges(() => device('cpu'));
});
