import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdist } from './cdist-suite.test-support.js';

describe('cdist on the CPU', () => {
  describeCdist(() => device('cpu'));
});
