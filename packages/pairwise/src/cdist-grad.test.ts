import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdistGrad } from './cdist-grad-suite.test-support.js';

describe('cdistGrad on the CPU', () => {
  describeCdistGrad(() => device('cpu'), { points: 50 });
});
