import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdist } from './cdist-suite.test-support.js';

// where nothing is compiled, the whole products take seconds
const full = process.env['MERCER_TEST_FULL'] === '1' || process.env['MERCER_CPU'] === 'interpreted';

describe('cdist on the CPU', () => {
  describeCdist(() => device('cpu'), { full });
});
