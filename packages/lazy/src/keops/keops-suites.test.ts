import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeKeopsRanges } from './block-sparse-suite.test-support.js';
import { describeKeopsGradients } from './gradients-suite.test-support.js';
import { describeKeopsLayouts } from './layouts-suite.test-support.js';

describe('KeOps gradients, layouts and ranges on the CPU', () => {
  describeKeopsGradients(() => device('cpu'));
  describeKeopsLayouts(() => device('cpu'));
  describeKeopsRanges(() => device('cpu'));
});
