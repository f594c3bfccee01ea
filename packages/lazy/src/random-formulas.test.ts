import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeRandomFormulas } from './random-formulas-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  const full = process.env['MERCER_TEST_FULL'] === '1';
  describeRandomFormulas(() => device('cpu'), { trees: full ? 40 : 8 });
});
