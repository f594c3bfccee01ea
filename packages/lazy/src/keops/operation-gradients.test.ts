import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeOperationGradients } from './operation-gradients-suite.test-support.js';

describe('KeOps operations on the CPU', () => {
  describeOperationGradients(() => device('cpu'));
});
