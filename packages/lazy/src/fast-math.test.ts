import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeFastMath } from './fast-math-suite.test-support.js';

describe('LazyTensor on the CPU', () => {
  describeFastMath(() => device('cpu'));
});
