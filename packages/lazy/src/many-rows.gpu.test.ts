import { devices } from '@mercer/tensor';
import { describe, it } from 'vitest';
import { describeManyRows } from './many-rows-suite.test-support.js';

const gpu = devices().find((found) => found.kind === 'cuda');

if (gpu === undefined) it.skip('many rows on a GPU: no device');
else {
  describe(`on ${gpu.id}`, () => {
    describeManyRows(() => gpu);
  });
}
