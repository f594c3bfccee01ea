import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeKeopsGradients } from './gradients-suite.test-support.js';

describe('KeOps gradients on the CPU', () => {
  describeKeopsGradients(() => device('cpu'));
});
