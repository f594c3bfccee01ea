import { device, empty, full, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cholesky } from './cholesky.js';
import { lstsq } from './lstsq.js';
import { matrixPower } from './matrix-power.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { solveTriangular } from './solve-triangular.js';

type Out = { readonly out: { readonly infos: Tensor<'int32'> } };
type Call = (a: Tensor<'float32'>, b: Tensor<'float32'>, o: Out) => Promise<unknown>;

let gpu: Device;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 32 });
  await useFakeSolvers();
  for (const name of ['CUBLAS', 'CUBLASLT']) process.env[`MERCER_CUDA_${name}_PATH`] = '/nowhere';
  gpu = device('cuda:0');
});

const calls: readonly (readonly [
  name: string,
  order: number,
  count: number,
  call: Call,
  library: RegExp,
])[] = [
  ['solveTriangular', 40, 2, (a, b, o) => solveTriangular(a, b, o), /cuBLAS /],
  ['solveCholesky of a batch', 200, 50, (a, b, o) => solveCholesky(a, b, o), /cuBLAS /],
  ['solveLU of a batch', 200, 50, (a, b, o) => solveLU(a, b, o), /cuBLAS /],
  ['solveLU of a large matrix', 2048, 1, (a, b, o) => solveLU(a, b, o), /cuBLAS /],
  ['a refined solve', 40, 2, (a, b, o) => solveLU(a, b, { ...o, refine: 1 }), /cuBLASLt/],
  ['lstsq', 40, 2, (a, b, o) => lstsq(a, b, o), /cuBLASLt/],
  ['matrixPower', 40, 2, (a, _, o) => matrixPower(a, 0.5, o), /cuBLASLt/],
  [
    'matrixPower by products',
    40,
    2,
    (a, _, o) => matrixPower(a, -0.5, { ...o, method: 'newton' }),
    /cuBLASLt/,
  ],
];

describe.skipIf(!nvrtcFound())('with cuSOLVER alone (skipped only without NVRTC)', () => {
  it.each(calls)(
    '%s says what is missing, and has written nothing',
    async (_, n, count, call, library) => {
      using a = empty([count, n, n], { device: gpu });
      using b = empty([count, n, 2], { device: gpu });
      using infos = await full([count], 7, { dtype: 'int32', device: gpu });
      await expect(call(a, b, { out: { infos } })).rejects.toMatchObject({
        code: 'NO_BACKEND',
        message: expect.stringMatching(library) as string,
      });
      expect(new Set(await infos.toTypedArray())).toEqual(new Set([7]));
    },
  );

  it('factors are computed', async () => {
    using a = empty([40, 40], { device: gpu });
    expect((await cholesky(a)).infos.shape).toEqual([]);
  });
});
