import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCdistBackward, describeReference } from './cdist-backward-suite.test-support.js';

describe('the oracle of gradients', describeReference);

// where nothing is compiled, the whole products take seconds
const full = process.env['MERCER_TEST_FULL'] === '1' || process.env['MERCER_CPU'] === 'interpreted';

describe('cdistBackward on the CPU', () => {
  describeCdistBackward(() => device('cpu'), { full });
});
