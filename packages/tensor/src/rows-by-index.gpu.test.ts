import { test } from 'vitest';
import { devices } from './devices.js';
import { rowsByIndexSuite } from './testing/rows-by-index-suite.test-support.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

for (const gpu of gpus) {
  rowsByIndexSuite(gpu.id, () => gpu, {
    rows: [1, 7, 1000, 1_000_000],
    counts: [0, 1, 31, 100_000, 1_000_000],
    columns: [1, 3, 10, 128],
    mostElements: 20_000_000,
  });
}
