import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { grad, hessian, jvp } from '@mercer/autodiff';
import {
  cdistBackward,
  customKernel,
  kernels,
  runKernel,
  runKernelBackward,
  type KernelDescriptor,
} from '@mercer/pairwise';
import { exp, mul, neg, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { drawnOn, expectClose, type Scalar } from '../../../autodiff/test/differences.mjs';
import { expectGradients, weighedOn } from './expect-gradients.test-support.js';

/** Second derivatives of pairwise kernels. */
export function describeSecondOrder(device: () => Device): void {
  const drawn = drawnOn(device);

  const weighed = weighedOn(device);

  /** The change of a gradient along fixed directions, by every input. */
  const expectSecond = async (f: Scalar, inputs: readonly Tensor[]): Promise<void> => {
    const argnums = inputs.map((_, k) => k);
    const changes = await Promise.all(inputs.map(({ shape }, k) => drawn(shape, [-1, 1], 50 + k)));
    const along: Scalar = async (...given) => {
      const found = await grad(f, { argnums })(...given);
      const terms = found.map((one, k) => one.mul(changes[k] as Tensor).sum());
      return terms.reduce((sum, term) => sum.add(term));
    };
    await expectGradients(along, inputs);
  };

  /** Without the types that tell data types and descriptors apart. */
  const call = runKernel as unknown as (...given: readonly unknown[]) => Promise<Tensor>;

  const rows = () => drawn([5, 3], [-1, 1], 1);

  describe('derivatives of every order through kernels of pairs', () => {
    it.each([1.3, 2, 3])('of the second order through a gradient by p = %d', async (p) => {
      const f: Scalar = async (upstream, a, b) =>
        (await cdistBackward(upstream as never, a as never, b as never, { p, wrt: ['p'] })).p;
      await expectGradients(f, [
        await drawn([5, 4], [0.5, 1], 3),
        await rows(),
        await drawn([4, 3], [1.5, 3], 2),
      ]);
      // between equal rows, and along equal features, there is no slope
      const two = await drawn([2, 2], [0.5, 1], 3);
      const one = async (x: Tensor): Promise<Tensor> => f(two, x, x);
      const x = await tensor([[1, 2], [1, 3]], { dtype: 'float64', device: device() }); // prettier-ignore
      const found = await (await grad(one)(x)).toTypedArray();
      expect(Array.from(found, Number).every(Number.isFinite)).toBe(true);
    });

    const [d, c] = [variable('d'), variable('c')];
    const own = {
      ...kernels.gaussian,
      kernel: customKernel(exp(neg(mul(d, c))), { parameters: ['c'] }),
    } as unknown as KernelDescriptor;
    const norm = { ...kernels.gaussian, innerPower: 'pow', outerPower: 'pow', kernel: 'none' };

    /** Kernels by their parameters, which are differentiated by too. */
    const cases: readonly (readonly [string, unknown, Readonly<Record<string, number>>])[] = [
      ['laplace', kernels.laplace, { bandwidth: 1.1 }],
      ['gaussian', kernels.gaussian, { bandwidth: 0.9 }],
      ['matern12', kernels.matern12, { bandwidth: 1.2 }],
      ['matern32', kernels.matern32, { bandwidth: 1.2 }],
      ['matern52', kernels.matern52, { bandwidth: 1.2 }],
      ['cauchy', kernels.cauchy, { bandwidth: 1.1 }],
      ['rationalQuadratic', kernels.rationalQuadratic, { bandwidth: 1.1, alpha: 0.7 }],
      ['inverseMultiquadric', kernels.inverseMultiquadric, { bandwidth: 1.3 }],
      ['cosine', kernels.cosine, {}],
      ['polynomial', kernels.polynomial, { gamma: 0.5, offset: 2, degree: 2.3 }],
      ['sigmoid', kernels.sigmoid, { gamma: 0.5, offset: 0.3 }],
      ['a norm', norm, { p: 2.7 }],
      ['one of one own', own, { 'parameters.c': 0.4 }],
    ];
    const optionsOf = (
      names: readonly string[],
      values: readonly Tensor[],
    ): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        names.map((name, at): [string, unknown] =>
          name.startsWith('parameters.')
            ? ['parameters', { [name.slice(11)]: values[at] }]
            : [name, values[at]],
        ),
      );

    it.each(cases)('of the second order and forwards: %s', async (_, descriptor, parameters) => {
      const names = Object.keys(parameters);
      const f: Scalar = async (a, b, ...values) =>
        weighed(await call(descriptor, a, b, optionsOf(names, values)));
      const inputs = [
        await drawn([3, 2], [0.2, 1], 1),
        await drawn([2, 2], [-1, 0.1], 2),
        ...(await Promise.all(
          Object.values(parameters).map((value) => drawn([], [value, value + 0.01])),
        )),
      ];
      await expectSecond(f, inputs);
      const changes = await Promise.all(
        inputs.map(({ shape }, at) => drawn(shape, [-1, 1], 9 + at)),
      );
      const { tangent } = await jvp(f)(inputs, changes);
      const gradients = await grad(f, { argnums: inputs.map((_, at) => at) })(...inputs);
      const terms = await Promise.all(
        gradients.map((one, at) =>
          one
            .mul(changes[at] as Tensor)
            .sum()
            .item(),
        ),
      );
      const along = terms.reduce<number>((sum, term) => sum + Number(term), 0);
      expectClose([Number(await tangent.item())], [along], 1e-12);
    });

    it('of the second order of one matrix, by scale and a regularization', async () => {
      for (const [descriptor, width] of [
        [kernels.gaussian, { bandwidth: 1.1 }],
        [kernels.cosine, {}],
      ] as const) {
        const f: Scalar = async (a, scale, regularization) =>
          weighed(await call(descriptor, a, { ...width, scale, regularization }));
        await expectSecond(f, [
          await drawn([3, 2], [0.2, 1], 1),
          await drawn([2], [0.5, 1.5], 4),
          await drawn([], [0.1, 0.2]),
        ]);
      }
    });

    it('of the second order of batches, each with its own bandwidth and scale', async () => {
      const f: Scalar = async (a, b, bandwidth, scale) =>
        weighed(await call(kernels.gaussian, a, b, { bandwidth, scale }));
      await expectSecond(f, [
        await drawn([2, 3, 2], [-1, 1], 1),
        await drawn([2, 2], [-1, 1], 2),
        await drawn([2], [0.8, 1.2], 3),
        await drawn([2, 1], [0.8, 1.2], 4),
      ]);
    });

    it('of the third order', async () => {
      const f: Scalar = async (a) =>
        weighed(await call(kernels.matern52, a, await drawn([2, 2], [-1, 0], 2), { bandwidth: 1 }));
      const slope: Scalar = async (a) => (await grad(f)(a)).square().sum();
      await expectSecond(slope, [await drawn([2, 2], [0.2, 1], 1)]);
    });

    it.each([
      ['gaussian', kernels.gaussian, 1],
      ['matern32', kernels.matern32, 3],
      ['matern52', kernels.matern52, 5 / 3],
      ['cauchy', kernels.cauchy, 2],
    ] as const)('the Hessian of %s between equal rows', async (_, descriptor, curvature) => {
      const one = await drawn([1, 2], [-1, 1], 1);
      const f = async (a: Tensor): Promise<Tensor> =>
        (await call(descriptor, a, one, { bandwidth: 0.8, epsilon: 0 })).sum();
      const found = Array.from(await (await hessian(f)(one)).toTypedArray(), Number);
      const slope = -curvature / 0.8 ** 2;
      expectClose(found, [slope, 0, 0, slope], 1e-12);
    });

    it('the Hessian of a sum of squares between equal rows, whatever it is written as', async () => {
      const one = await drawn([1, 2], [-1, 1], 1);
      for (const innerPower of ['square', 'pow']) {
        const squares = { innerOperator: 'diff', innerPower, outerPower: 'none', kernel: 'none' };
        const options = innerPower === 'pow' ? { innerP: 2 } : {};
        const f = async (a: Tensor): Promise<Tensor> =>
          (await call(squares, a, one, options)).sum();
        const found = Array.from(await (await hessian(f)(one)).toTypedArray(), Number);
        expect(found, innerPower).toEqual([2, 0, 0, 2]);
      }
    });

    it('keep no memory', async () => {
      const [a, scale] = [await drawn([3, 2], [0.2, 1], 1), await drawn([2], [0.5, 1.5], 4)];
      const change = await drawn([3, 2], [-1, 1], 2);
      for (const descriptor of [kernels.gaussian, kernels.cosine]) {
        const width = descriptor === kernels.gaussian ? { bandwidth: 1.1 } : {};
        const f = async (x: Tensor): Promise<Tensor> =>
          (await call(descriptor, x, { ...width, scale, regularization: 0.1 })).sum();
        const second = grad(async (x: Tensor) => (await grad(f)(x)).square().sum());
        const run = async (): Promise<void> => {
          (await second(a)).dispose();
          const { value, tangent } = await jvp(f)([a], [change]);
          value.dispose();
          tangent.dispose();
        };
        await run();
        expect(await memoryKept(a.device, run)).toEqual(NOTHING);
      }
    });

    it('through the backward call itself, by the upstream gradient and all else', async () => {
      const backward = runKernelBackward as unknown as (
        ...given: readonly unknown[]
      ) => Promise<Readonly<Record<string, Tensor>>>;
      const f: Scalar = async (upstream, a, b, bandwidth) => {
        const wrt = ['a', 'b', 'bandwidth'];
        const found = await backward(kernels.gaussian, upstream, a, b, { bandwidth, wrt });
        const [ofA, ofB, ofWidth] = await Promise.all(Object.values(found).map(weighed));
        return (ofA as Tensor).add(ofB as Tensor).add(ofWidth as Tensor);
      };
      const inputs = [
        await drawn([3, 2], [-1, 1], 4),
        await drawn([3, 2], [-1, 1], 1),
        await drawn([2, 2], [-1, 1], 2),
        await drawn([], [0.8, 0.9]),
      ];
      await expectGradients(f, inputs);
      const [upstream, a, b] = inputs;
      const wrong = (x: Tensor) => backward(kernels.gaussian, upstream, x, x, { bandwidth: 1 });
      await expect(grad(wrong as never)(a as Tensor)).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
      });
      const into = (x: Tensor) =>
        backward(kernels.gaussian, upstream, x, b, { bandwidth: 1, out: { a: b } });
      await expect(grad(into as never)(a as Tensor)).rejects.toMatchObject({
        code: 'NOT_DIFFERENTIABLE',
      });
    });
  });
}
