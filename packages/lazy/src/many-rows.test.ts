import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeManyRows } from './many-rows-suite.test-support.js';

describe('on the CPU', () => {
  describeManyRows(() => device('cpu'));
});
