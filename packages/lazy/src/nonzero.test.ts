import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeNonzero } from './nonzero-suite.test-support.js';

describe('pairs of rows on the CPU', () => {
  describeNonzero(() => device('cpu'));
});
