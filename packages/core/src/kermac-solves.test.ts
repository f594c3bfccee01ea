import { describe } from 'vitest';
import { device } from './index.js';
import { describeKermacSolves } from './kermac-solves-suite.test-support.js';

describe("Kermac's tests on the CPU", () => {
  describeKermacSolves(() => device('cpu'));
});
