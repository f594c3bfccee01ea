import {
  type Device,
  empty,
  type MercerErrorCode,
  planOf,
  tensor,
  type Tensor,
  zeros,
} from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import { kernels, runKernel } from './index.js';
import { expectCode, matrix, upload } from './matrices.test-support.js';
import { expectKernel } from './run-kernel-checks.test-support.js';

/** What `runKernel.prepare` promises. */
export function describePreparedKernel(device: () => Device): void {
  const place = (x: ReferenceMatrix): Promise<Tensor<'float32'>> =>
    upload(x, 'row', 0, 'float32', device()) as Promise<Tensor<'float32'>>;

  describe('prepare', () => {
    it('leaves M, N and the batch free, and takes parameters anew', async () => {
      const [a, b] = [matrix(13, 6, 1), matrix(12, 6, 2)];
      const [x, y] = [await place(a), await place(b)];
      const k = await runKernel.prepare(kernels.gaussian, x, y, {
        bandwidth: 2,
        regularization: 0.5,
      });
      expect(k.plan.summary).toMatch(/\w/);
      const first = k(x, y);
      expect(planOf(first)).toBe(k.plan);
      await expectKernel(first, kernels.gaussian, a, b, { bandwidth: 2, regularization: 0.5 });
      const values = { bandwidth: 1.25, regularization: 0.25, epsilon: 0.5 };
      await expectKernel(k(x, y, values), kernels.gaussian, a, b, values);
      const bandwidth = await tensor([2, 4], { dtype: 'float32', device: device() });
      const two = k(x, y, { bandwidth });
      expect(two.shape).toEqual([2, 13, 12]);
      await expectKernel(two.slice(1), kernels.gaussian, a, b, {
        bandwidth: 4,
        regularization: 0.5,
      });
      const out = empty([3, 12], { dtype: 'float32', device: device() });
      expect(k(x.slice([0, 3]), y, { out })).toBe(out);
      const part = { ...a, rows: 3, values: a.values.slice(0, 18) };
      await expectKernel(out, kernels.gaussian, part, b, { bandwidth: 2, regularization: 0.5 });
    });

    it('keeps p free where it was a tensor', async () => {
      const a = matrix(9, 6, 3);
      const x = await place(a);
      const p = await tensor([1.25], { dtype: 'float32', device: device() });
      const k = await runKernel.prepare(kernels.minkowski, x, { p });
      await expectKernel(k(x), kernels.minkowski, a, a, { p: 1.25 });
      await expectKernel(k(x, undefined, { p: 3 }), kernels.minkowski, a, a, { p: 3 });
    });

    it('scales and normalises, with one input and with two', async () => {
      const a = matrix(9, 6, 3);
      const x = await place(a);
      const scale = await tensor([1, 2, 0.5, 1, -1, 4], { dtype: 'float32', device: device() });
      const scaled = await runKernel.prepare(kernels.gaussian, x, x, { bandwidth: 2, scale });
      const list = [1, 2, 0.5, 1, -1, 4];
      await expectKernel(scaled(x, x), kernels.gaussian, a, a, { bandwidth: 2, scale: list });
      const single = scaled(x, x, { scale: 0.5 });
      await expectKernel(single, kernels.gaussian, a, a, { bandwidth: 2, scale: [0.5] });
      const angles = await runKernel.prepare(kernels.cosine, x);
      await expectKernel(angles(x), kernels.cosine, a, a);
    });

    it('refuses what it was not prepared for', async () => {
      const x = await place(matrix(8, 4, 1));
      const p = await tensor([2], { dtype: 'float32', device: device() });
      const norm = await runKernel.prepare(kernels.minkowski, x, x, { p: 1.3 });
      const gauss = await runKernel.prepare(kernels.gaussian, x, { bandwidth: 1 });
      const other = x.view();
      const power = await runKernel.prepare(kernels.polynomial, x, x, {
        gamma: 1,
        offset: 0,
        degree: 2,
      });
      const double = await zeros([8, 4], { dtype: 'float64', device: device() });
      const spaced = await tensor(new Float32Array(12), { shape: [12], device: device() });
      const backwards = x.slice([null, null, -1]);
      const cases: [MercerErrorCode, () => unknown][] = [
        ['INVALID_ARGUMENT', () => norm(x, x, { p: 1.5 })],
        ['INVALID_ARGUMENT', () => norm(x, x, { p })],
        ['INVALID_ARGUMENT', () => norm(x, x, { scale: 2 })],
        ['INVALID_ARGUMENT', () => power(x, x, { degree: 3 })],
        ['INVALID_ARGUMENT', () => power(x, x, { gamma: NaN })],
        ['INVALID_ARGUMENT', () => gauss(x, other)],
        ['INVALID_ARGUMENT', () => norm(x)],
        ['INVALID_ARGUMENT', () => gauss(x, undefined, { regularization: 1 })],
        ['INVALID_ARGUMENT', () => gauss(x, undefined, { bandwidth: -1 })],
        ['INVALID_ARGUMENT', () => gauss(x, undefined, { bandwidth: 1e-30 })],
        ['SHAPE_MISMATCH', () => gauss(x.slice(null, [0, 3]))],
        ['DTYPE_MISMATCH', () => gauss(double as never)],
        ['DTYPE_MISMATCH', () => gauss(x, undefined, { bandwidth: double.slice(0, 0) as never })],
        ['NOT_CONTIGUOUS', () => gauss(backwards)],
        ['NOT_CONTIGUOUS', () => norm(x.slice([0, 4]).transpose(), x)],
        [
          'NOT_CONTIGUOUS',
          () =>
            gauss(x.reshape([2, 2, 2, 4]), undefined, {
              bandwidth: spaced.reshape([2, 6]).slice(null, [0, 2]),
            }),
        ],
      ];
      for (const [code, call] of cases) {
        await expectCode((async () => call())(), code);
      }
      // A value that is built in may be repeated.
      norm(x, x, { p: 1.3 }).dispose();
    });
  });
}
