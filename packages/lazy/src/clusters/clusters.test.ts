import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeClusters } from './clusters-suite.test-support.js';
import { describeKMeans } from './k-means-suite.test-support.js';
import { describeTruncated } from './truncated-suite.test-support.js';

describe('clusters on the CPU', () => {
  describeClusters(() => device('cpu'));
  describeKMeans(() => device('cpu'));
  describeTruncated(() => device('cpu'));
});
