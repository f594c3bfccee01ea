import { devices } from '@mercer/tensor';
import { beforeAll, it } from 'vitest';
import { factorsSuite } from './factors-suite.test-support.js';
import { largeSuite } from './large-suite.test-support.js';
import { DTYPES, placeTensors } from './matrices.test-support.js';
import { orthogonalSuite } from './orthogonal-suite.test-support.js';
import { powersSuite } from './powers-suite.test-support.js';
import { solveSuite } from './solve-suite.test-support.js';
import { waitingSuite } from './waiting-suite.test-support.js';

const gpu = devices().find(({ kind }) => kind === 'cuda');

beforeAll(() => {
  if (gpu !== undefined) placeTensors(gpu);
});

if (gpu === undefined) {
  it.skip('linear algebra on a GPU: no device');
} else {
  // Orders on both sides of where small systems end, and of where batches do.
  solveSuite('on a GPU', [1, 2, 3, 7, 16, 33, 64, 96, 97, 130, 257]);
  factorsSuite('on a GPU', [1, 2, 5, 31, 70, 140]);
  orthogonalSuite('on a GPU', [1, 2, 5, 31, 70, 140]);
  powersSuite('on a GPU', [1, 2, 5, 31, 70]);
  largeSuite('on a GPU', {
    solves: [512, 1024, 2048, 4096].flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)),
    eigen: [600, 1024, 1500, 4096],
    factors: [
      ...[600, 1500].flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)),
      [4096, 'float64'],
    ],
  });
  waitingSuite(gpu);
}
