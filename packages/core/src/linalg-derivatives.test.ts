import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { drawn } from '../../autodiff/test/differences.mjs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  cholesky,
  device,
  eigh,
  grad,
  inv,
  jvp,
  logdet,
  lstsq,
  matrixPower,
  qr,
  solveCholesky,
  solveLU,
  solveTriangular,
  svd,
  type Tensor,
} from './index.js';
import { describeLinalgDerivatives } from './testing/linalg-derivatives-suite.test-support.js';

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

describeLinalgDerivatives(() => device('cpu'));

type Floats = Tensor<'float64'>;
type Results = Promise<Readonly<Record<string, Tensor>>>;

const CALLS: Readonly<Record<string, (a: Floats, b: Floats) => Results>> = {
  cholesky: async (a) => ({ ...(await cholesky(a)) }),
  eigh: async (a) => ({ ...(await eigh(a)) }),
  inv: async (a) => ({ ...(await inv(a)) }),
  logdet: async (a) => ({ logAbs: (await logdet(a)).logAbs }),
  lstsq: async (a, b) => ({ ...(await lstsq(a, b)) }),
  matrixPower: async (a) => ({ result: (await matrixPower(a, -0.5)).result }),
  qr: async (a) => ({ ...(await qr(a)) }),
  solveCholesky: async (a, b) => ({ ...(await solveCholesky(a, b)) }),
  solveLU: async (a, b) => ({ ...(await solveLU(a, b)) }),
  solveTriangular: async (a, b) => ({ ...(await solveTriangular(a, b)) }),
  svd: async (a) => ({ s: (await svd(a)).s }),
};

it.each(Object.keys(CALLS))('gives back all that a derivative of %s makes', async (name) => {
  using square = await drawn([3, 3], [0.2, 0.8], 3);
  using a = await square.add(square.transpose()).tril().add(square.matmul(square.transpose()));
  using b = await drawn([3, 2], [0.2, 0.8], 4);
  const f = async (one: Floats, other: Floats): Promise<Tensor> => {
    const [first] = Object.values((await CALLS[name]?.(one, other)) ?? {});
    return (first as Floats).square().sum();
  };
  const twice = grad(async (one: Floats) => (await grad(f)(one, b)).square().sum());
  const work = async (): Promise<void> => {
    (await grad(f)(a, b)).dispose();
    (await twice(a)).dispose();
    const { value, tangent } = await jvp(f)([a, b], [a, b]);
    for (const one of [value, tangent]) one.dispose();
  };
  await work(); // the first call makes what derivatives share
  expect(await memoryKept(device('cpu'), work)).toEqual(NOTHING);
});
