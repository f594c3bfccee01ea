import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCutDerivatives } from './derivatives-suite.test-support.js';

describe('several shards on the CPU', () => {
  describeCutDerivatives(() => [device('cpu'), device('cpu')], {
    full: process.env['MERCER_TEST_FULL'] === '1',
  });
});
