import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeCutDerivatives } from './derivatives-suite.test-support.js';

describe('several shards on the CPU', () => {
  describeCutDerivatives(() => [device('cpu'), device('cpu')]);
});
