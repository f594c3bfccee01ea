import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdistBackward, describeReference } from './cdist-backward-suite.test-support.js';

describe('the oracle of gradients', describeReference);

describe('cdistBackward on the CPU', () => {
  describeCdistBackward(() => device('cpu'));
});
