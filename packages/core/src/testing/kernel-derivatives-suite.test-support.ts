import { full, type Tensor, type Device } from '@mercer/tensor';
import { grad, valueAndGrad } from '@mercer/autodiff';
import {
  cdist,
  customKernel,
  kernels,
  runKernel,
  runKernelBackward,
  type KernelDescriptor,
} from '@mercer/pairwise';
import { exp, mul, neg, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { drawnOn, type Scalar } from '../../../autodiff/test/differences.mjs';
import { expectGradients, weighedOn } from './expect-gradients.test-support.js';

/** Derivatives through distances and kernels between rows. */
export function describeKernelDerivatives(device: () => Device): void {
  const drawn = drawnOn(device);

  const weighed = weighedOn(device);

  /** Without the types that tell data types and descriptors apart. */
  const call = runKernel as unknown as (...given: readonly unknown[]) => Promise<Tensor>;
  const distances = cdist as unknown as (...given: readonly unknown[]) => Promise<Tensor>;

  const rows = () => drawn([5, 3], [-1, 1], 1);
  const others = () => drawn([4, 3], [-1, 1], 2);

  describe('gradients through distances', () => {
    it.each([1, 1.3, 2, 3, Infinity])('p = %d', async (p) => {
      const f: Scalar = async (a, b) => weighed(await distances(a, b, { p }));
      await expectGradients(f, [await rows(), await others()]);
    });

    it('of results of operations, of sums of powers, of batches and of one tensor twice', async () => {
      const [a, b] = [await rows(), await others()];
      await expectGradients(
        async (x, y) =>
          weighed(
            await distances(await x.mul(2).sin(), await y.exp(), { p: 2, skipEpilogue: true }),
          ),
        [a, b],
      );
      const batch = await drawn([2, 5, 3], [-1, 1], 3);
      await expectGradients(async (x, y) => weighed(await distances(x, y, { p: 3 })), [batch, b]);
      await expectGradients(
        async (x) => weighed(await distances(x, x, { p: 2, skipEpilogue: true })),
        [a],
      );
    });

    it('beside data of the host', async () => {
      const f: Scalar = async (a) =>
        weighed(
          await distances(a, [
            [0, 1, 2],
            [3, 4, 5],
          ]),
        );
      await expectGradients(f, [await rows()]);
    });

    it('block by block, on several devices, beside rows of the host and where inputs lie elsewhere', async () => {
      const cut = { devices: [device(), device()], maxBytes: 4000 };
      const f: Scalar = async (a, b) => weighed(await distances(a, b, { p: 3, ...cut }));
      await expectGradients(f, [await rows(), await others()]);
      const kernel: Scalar = async (a, bandwidth, scale) =>
        weighed(await call(kernels.matern32, a, { bandwidth, scale, ...cut }));
      const scale = await drawn([3], [0.5, 1], 7);
      await expectGradients(kernel, [await rows(), await drawn([], [0.8, 0.9]), scale]);
      const [x, y] = [await (await rows()).to('cpu'), (await others()).toTypedArray()];
      const data = { data: await y, shape: [4, 3] };
      const loss =
        (options: object): Scalar =>
        async (a) =>
          (await distances(a, data, { p: 2, ...options })).to('cpu').square().sum();
      const found = await grad(loss(cut))(x);
      expect(found.device.id).toBe('cpu');
      const wanted = await (await grad(loss({}))(x)).toTypedArray();
      const got = await found.toTypedArray();
      for (const [at, one] of wanted.entries()) expect(got[at]).toBeCloseTo(Number(one), 12);
      const out = await full([5, 4], 0, { dtype: 'float64', device: 'cpu' });
      await expect(grad(loss({ ...cut, out }))(x)).rejects.toThrow(/out overwrites/);
      const twice: Scalar = async (a) => (await grad(f)(a, await others())).square().sum();
      await expect(grad(twice)(await rows())).rejects.toThrow(/cdistBackward.*differentiated/);
    });

    /** The change of a gradient along fixed directions, by every input. */
    const expectSecond = async (f: Scalar, inputs: readonly Tensor[]): Promise<void> => {
      const argnums = inputs.map((_, k) => k);
      const changes = await Promise.all(
        inputs.map(({ shape }, k) => drawn(shape, [-1, 1], 50 + k)),
      );
      const along: Scalar = async (...given) => {
        const found = await grad(f, { argnums })(...given);
        const terms = found.map((one, k) => one.mul(changes[k] as Tensor).sum());
        return terms.reduce((sum, term) => sum.add(term));
      };
      await expectGradients(along, inputs);
    };

    it.each([1.3, 2, 3, Infinity])('of the second order, p = %d', async (p) => {
      const f: Scalar = async (a, b) => weighed(await distances(a, b, { p }));
      // at a difference of 0 the slope of |d| ^ 0.3 is infinite
      await expectSecond(f, [await rows(), await drawn([4, 3], [1.5, 3], 2)]);
    });

    it('of the second order of sums of powers, of batches and of one tensor twice', async () => {
      const f: Scalar = async (a, b) =>
        weighed(await distances(a, b, { p: 2, skipEpilogue: true }));
      await expectSecond(f, [await drawn([2, 5, 3], [-1, 1], 3), await others()]);
      const one: Scalar = async (a) => weighed(await distances(a, a, { p: 2, skipEpilogue: true }));
      await expectSecond(one, [await rows()]);
      const root: Scalar = async (a) => weighed(await distances(a, a, { p: 3 }));
      await expectSecond(root, [await rows()]);
    });

    it('of the third order', async () => {
      const f: Scalar = async (a) => weighed(await distances(a, await others(), { p: 2 }));
      const slope: Scalar = async (a) => (await grad(f)(a)).square().sum();
      await expectSecond(slope, [await drawn([2, 3], [-1, 1], 1)]);
    });
  });

  describe('gradients through kernels', () => {
    it('a Gaussian, by its rows and its bandwidth', async () => {
      const f: Scalar = async (a, b, bandwidth) =>
        weighed(await call(kernels.gaussian, a, b, { bandwidth }));
      await expectGradients(f, [await rows(), await others(), await drawn([], [0.8, 0.9])]);
    });

    it('of one matrix, with features scaled and a regularization', async () => {
      const f: Scalar = async (a, bandwidth, scale, regularization) =>
        weighed(await call(kernels.laplace, a, { bandwidth, scale, regularization }));
      await expectGradients(f, [
        await rows(),
        await drawn([], [1.1, 1.2]),
        await drawn([3], [0.5, 1.5], 4),
        await drawn([], [0.1, 0.2]),
      ]);
    });

    it('of one tensor in both places', async () => {
      const f: Scalar = async (a) =>
        weighed(await call(kernels.gaussian, a, await a.mul(1), { bandwidth: 1.2 }));
      await expectGradients(f, [await rows()]);
      const g: Scalar = async (a) =>
        weighed(await call(kernels.gaussian, a, a, { bandwidth: 1.2 }));
      await expectGradients(g, [await rows()]);
    });

    it('a polynomial by degree, factor and offset', async () => {
      const f: Scalar = async (a, b, gamma, offset, degree) =>
        weighed(await call(kernels.polynomial, a, b, { gamma, offset, degree }));
      await expectGradients(f, [
        await drawn([5, 3], [0.2, 1], 1),
        await drawn([4, 3], [0.2, 1], 2),
        await drawn([], [0.5, 0.6]),
        await drawn([], [1, 1.1]),
        await drawn([], [2.3, 2.4]),
      ]);
    });

    it('a kernel of one own, by its parameters', async () => {
      const [d, c] = [variable('d'), variable('c')];
      const descriptor = {
        ...kernels.gaussian,
        kernel: customKernel(exp(neg(mul(d, c))), { parameters: ['c'] }),
      } as unknown as KernelDescriptor;
      const f: Scalar = async (a, b, rate) =>
        weighed(await call(descriptor, a, b, { parameters: { c: rate } }));
      await expectGradients(f, [await rows(), await others(), await drawn([], [0.4, 0.5])]);
    });

    it('gives what the backward call gives, bit by bit', async () => {
      const [a, b] = [await rows(), await others()];
      const { grad: found } = await valueAndGrad(async (x: Tensor) =>
        (await call(kernels.gaussian, x, b, { bandwidth: 1 })).sum(),
      )(a);
      const ones = await full([5, 4], 1, { dtype: 'float64', device: device() });
      const wanted = await runKernelBackward(kernels.gaussian, ones, a, b, {
        bandwidth: 1,
        wrt: ['a'],
      });
      expect(await found.toTypedArray()).toEqual(await wanted.a.toTypedArray());
    });
  });
}
