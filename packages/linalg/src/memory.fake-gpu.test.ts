import { device, empty, full, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cholesky } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { kronMatvec } from './kron-matvec.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { logdet } from './logdet.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { solveTriangular } from './solve-triangular.js';
import { svd } from './svd.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Matrix = Tensor<'float32'>;

const hasNvrtc = nvrtcFound();

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1 });
});

const live = (of: 'cpu' | 'cuda:0'): number => undisposedBytes(device(of));

describe('memory', () => {
  it('of a call is its results; failed calls leave nothing behind', async () => {
    using a = await zeros([3, 3], { device: 'cpu' });
    const before = live('cpu');
    for (let i = 0; i < 20; i++) {
      const { x, infos } = await solveLU(a, a);
      x.dispose();
      infos.dispose();
      await solveLU(a, a, { checkErrors: true }).catch(() => undefined);
      await solveCholesky(a, a, { overwriteB: true, checkErrors: true }).catch(() => undefined);
      using wrong = empty([2, 2], { device: 'cpu' });
      await solveLU(a, wrong).catch(() => undefined);
      const vector = await zeros([9], { device: 'cpu' });
      (await kronMatvec(a, a, vector)).dispose();
      vector.dispose();
    }
    expect(live('cpu')).toBe(before);
  });

  it.each([
    ['solveCholesky', solveCholesky],
    ['solveLU', solveLU],
  ])('that %s wrote over goes with its last handle, prepared or not', async (_, solve) => {
    const before = live('cpu');
    for (const options of [{ overwriteA: true }, { overwriteA: true, overwriteB: true }]) {
      using a = empty([1, 1], { device: 'cpu' });
      using b = empty([1, 1], { device: 'cpu' });
      const prepared = await solve.prepare(a, b, options);
      const ordinary = (matrix: Matrix, sides: Matrix) => solve(matrix, sides, options);
      for (const call of [ordinary, prepared]) {
        for (let turn = 0; turn < 3; turn++) {
          const matrix = await full([1, 1], 4, { device: 'cpu' });
          const sides = await full([1, 1], 12, { device: 'cpu' });
          const { x, infos } = await call(matrix, sides);
          expect(await x.toNested()).toEqual([[3]]);
          for (const one of [matrix, sides, x, infos]) one.dispose();
        }
      }
    }
    expect(live('cpu')).toBe(before);
  });
});

describe.skipIf(!hasNvrtc)('tensors of a GPU (skipped only without NVRTC)', () => {
  it('need the library, which an error names with the places tried', async () => {
    using a = empty([2, 2], { device: device('cuda:0') });
    const before = live('cuda:0');
    await expect(matmul(a, a)).rejects.toThrow(
      expect.objectContaining({
        code: 'NO_BACKEND',
        message: expect.stringMatching(/matmul on cuda:0: .*cuBLASLt/) as string,
      }),
    );
    expect(live('cuda:0')).toBe(before);
  });

  it('need cuSOLVER for factors, and nothing is left behind', async () => {
    using a = empty([2, 128, 128], { device: device('cuda:0') });
    const before = live('cuda:0');
    for (const call of [solveCholesky(a, a), qr(a), eigh(a)]) {
      await expect(call).rejects.toThrow(
        expect.objectContaining({
          code: 'NO_BACKEND',
          message: expect.stringMatching(/on cuda:0: .*cuSOLVER/) as string,
        }),
      );
    }
    expect(live('cuda:0')).toBe(before);
  });

  it('need cuSOLVER before results are written', async () => {
    const gpu = device('cuda:0');
    using a = empty([2, 128, 128], { device: gpu });
    using infos = await full([2], 7, { dtype: 'int32', device: gpu });
    const out = { infos };
    for (const call of [
      () => solveCholesky(a, a, { out }),
      () => solveLU(a, a, { out, refine: 1 }),
      () => solveTriangular(a, a, { out }),
      () => cholesky(a, { out }),
      () => inv(a, { out }),
      () => logdet(a, { out }),
      () => conditionEstimate(a, { out }),
      () => qr(a, { out }),
      () => eigh(a, { out }),
      () => svd(a, { out }),
      () => lstsq(a, a, { out }),
      () => matrixPower(a, 0.5, { out }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'NO_BACKEND' });
      expect(await infos.toNested()).toEqual([7, 7]);
    }
  });

  it('do not mix with those of the CPU', async () => {
    using a = empty([2, 2], { device: device('cuda:0') });
    using b = empty([2, 2], { device: 'cpu' });
    await expect(solveLU(a, b)).rejects.toThrow(
      expect.objectContaining({ code: 'DEVICE_MISMATCH' }),
    );
  });
});
