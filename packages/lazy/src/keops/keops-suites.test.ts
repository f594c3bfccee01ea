import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeKeopsGradients } from './gradients-suite.test-support.js';
import { describeKeopsLayouts } from './layouts-suite.test-support.js';

describe('KeOps gradients and layouts on the CPU', () => {
  describeKeopsGradients(() => device('cpu'));
  describeKeopsLayouts(() => device('cpu'));
});
