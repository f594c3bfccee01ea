import { device } from '@mercer/tensor';
import { describe } from 'vitest';
import { describeWeightedDifferences } from './weighted-differences-suite.test-support.js';

describe('weightedDifferences on the CPU', () => {
  describeWeightedDifferences(() => device('cpu'), { points: 50 });
});
