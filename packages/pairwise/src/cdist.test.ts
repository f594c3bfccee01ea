import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdist } from './cdist-suite.test-support.js';

describe('cdist on the CPU', () => {
  describeCdist(() => device('cpu'), { full: process.env['MERCER_TEST_FULL'] === '1' });
});
