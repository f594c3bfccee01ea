import { devices, type Device } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { beforeAll, expect, it } from 'vitest';
import { factorsSuite } from './factors-suite.test-support.js';
import { largeSuite } from './large-suite.test-support.js';
import { DTYPES, placeTensors } from './matrices.test-support.js';
import { manyLargeSuite } from './many-large-suite.test-support.js';
import { orthogonalSuite } from './orthogonal-suite.test-support.js';
import { powersSuite } from './powers-suite.test-support.js';
import { preparedSuite } from './prepared-suite.test-support.js';
import { refineEigenbasisSuite } from './refine-eigenbasis-suite.test-support.js';
import { solveSuite } from './solve-suite.test-support.js';
import { spin } from './spin.test-support.js';
import { waitingSuite } from './waiting-suite.test-support.js';

const whole = process.env['MERCER_TEST_FULL'] === '1';
const gpu = devices().find(({ kind }) => kind === 'cuda');

/** Makes a call behind a stream that spins, and holds that it resolves before that ends. */
async function whileBusy<T>({ defaultStream }: Device, call: () => Promise<T>): Promise<T> {
  const native = nativeStream(defaultStream);
  await spin(defaultStream, 1200);
  using spun = native.device.createEvent();
  native.record(spun);
  const result = await call();
  expect(spun.query()).toBe(false);
  return result;
}

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
  refineEigenbasisSuite('on a GPU');
  largeSuite('on a GPU', {
    solves: [512, 1024, 2048, 4096].flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)),
    eigen: [600, 1024, 1500, 4096],
    factors: [
      ...[600, 1500].flatMap((n) => DTYPES.map((dtype) => [n, dtype] as const)),
      [4096, 'float64'],
      // Some seconds each.
      ...(whole ? ([[4096, 'float32']] as const) : []),
    ],
  });
  manyLargeSuite('on a GPU', {
    count: 200,
    // Of orders that are not done in batches; from svd on the library waits for the device.
    orders: [
      ['cholesky', 1030, 'busy'],
      ['inv', 520, 'busy'],
      ['qr', 300, 'busy'],
      ['svd', 130],
      ['lstsq', 130],
      ...(whole ? ([['eigh', 1030]] satisfies [string, number][]) : []),
    ],
    whileBusy: (call) => whileBusy(gpu, call),
  });
  preparedSuite('on a GPU', () => gpu);
  waitingSuite(gpu);
}
