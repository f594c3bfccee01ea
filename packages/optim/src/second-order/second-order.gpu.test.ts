import { devices } from '@mercer/tensor';
import { test } from 'vitest';
import { badInputSuite } from './bad-input-suite.test-support.js';
import { byHandSuite } from './by-hand-suite.test-support.js';
import { inGroupsSuite } from './in-groups-suite.test-support.js';
import { kfacSuite } from './kfac-suite.test-support.js';
import { naturalGradientSuite } from './natural-gradient-suite.test-support.js';
import { shampooSuite } from './shampoo-suite.test-support.js';
import { soapSuite } from './soap-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  for (const suite of [
    shampooSuite,
    soapSuite,
    kfacSuite,
    naturalGradientSuite,
    badInputSuite,
    inGroupsSuite,
    byHandSuite,
  ]) {
    suite(gpu.id, () => gpu);
  }
}
