import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { device, isTensor, lapack, MercerError, prepare, tensor, type Tensor } from './index.js';
import { preparedProgramsSuite } from './testing/prepared-programs-suite.test-support.js';
import {
  operations,
  operatorsAndClusters,
  outcomeOf,
} from './testing/every-operation.test-support.js';

beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

preparedProgramsSuite('the CPU', () => device('cpu'));

/** What reads values on the way, and refuses by its name. */
const READS: Readonly<Record<string, string>> = {
  toNested: 'toNested',
  vector: 'toTypedArray',
  compress: 'compress',
  unique: 'unique',
  nonzero: 'nonzero',
  cg: 'cg',
  'cg of blocks': 'cg',
  minres: 'minres',
  gmres: 'gmres',
  lsqr: 'lsqr',
  lsmr: 'lsmr',
  'LazyTensor.solve': 'solve',
  kernelSolve: 'kernelSolve',
  eigsh: 'eigsh',
  lobpcg: 'lobpcg',
  lanczos: 'lanczos',
  trace: 'trace',
  'logdet of an operator': 'logdet',
  nystrom: 'nystrom',
  pivotedCholesky: 'pivotedCholesky',
  eigenPro: 'eigenPro',
  falkon: 'falkon',
  sparseOperator: 'sparseOperator',
  'rows by a function of numbers in a tensor': 'rows',
  gridCluster: 'gridCluster',
  kMeans: 'kMeans',
  clusterRanges: 'clusterRanges',
  clusterCentroids: 'clusterCentroids',
  clusterRangesCentroids: 'clusterRangesCentroids',
  fromMatrix: 'fromMatrix',
  truncatedRanges: 'truncatedRanges',
};

/** What reads values where no LAPACK is found, and a package in JavaScript computes them. */
const READS_WITHOUT_LAPACK: Readonly<Record<string, string>> = {
  eigh: 'eigh',
  lstsq: 'lstsq',
  matrixPower: 'matrixPower',
  svd: 'svd',
  eighBackward: 'eigh',
  lstsqBackward: 'lstsq',
  matrixPowerBackward: 'matrixPowerBackward',
  svdBackward: 'svd',
};

const hasTensors = (value: unknown): boolean =>
  isTensor(value) ||
  (typeof value === 'object' && value !== null && Object.values(value).some(hasTensors));

describe('an operation that prepare() captures', () => {
  it('gives what it gives without, bit for bit, or is refused by its name', async () => {
    const none = await tensor([0], { device: 'cpu' });
    const refused: Record<string, string> = {};
    let compared = 0;
    for (const [name, call] of [...(await operations()), ...(await operatorsAndClusters())]) {
      if (name !== 'toNested' && name !== 'vector' && !hasTensors(await call())) continue;
      try {
        using prepared = await prepare((_: Tensor) => call(), none);
        const wanted = await outcomeOf(call);
        const outcomes = [
          await outcomeOf(() => prepared(none)),
          await outcomeOf(() => prepared(none)),
        ];
        expect(outcomes, name).toEqual([wanted, wanted]);
        compared++;
      } catch (error) {
        if (!(error instanceof MercerError && error.code === 'CAPTURED')) throw error;
        refused[name] = /^[A-Za-z]+/.exec(error.message)?.[0] ?? '';
      }
    }
    expect(refused).toEqual(lapack.isAvailable() ? READS : { ...READS, ...READS_WITHOUT_LAPACK });
    expect(compared).toBeGreaterThan(90);
  });
});
