import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeOutDtypes } from './out-dtype-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeOutDtypes(() => device('cpu'));
});
