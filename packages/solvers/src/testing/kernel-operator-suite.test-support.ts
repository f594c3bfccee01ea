import { checkGradients, grad } from '@mercer/autodiff';
import { kernelDescriptor, kernels, runKernel, type KernelDescriptor } from '@mercer/pairwise';
import { random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cg, kernelOperator, type KernelOperatorOptions, type LinearOperator } from '../index.js';
import {
  difference,
  float64,
  matrixOf,
  nested,
  solved,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

const [M, N, K] = [7, 5, 3];
const rowsX = matrixOf(M, K, 1);
const rowsY = matrixOf(N, K, 2);
const rough = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'pow',
  outerPower: 'pow',
  kernel: 'laplace',
});

type Any = KernelOperatorOptions;
const anyKernelOperator = kernelOperator as unknown as (
  descriptor: KernelDescriptor,
  x: Tensor,
  ...rest: readonly (Tensor | Any | undefined)[]
) => Promise<LinearOperator<'float64'>>;
const anyRunKernel = runKernel as unknown as (...args: readonly unknown[]) => Promise<Tensor>;

/** Descriptors with their options. */
const CASES: Readonly<Record<string, readonly [KernelDescriptor, Any]>> = {
  gaussian: [kernels.gaussian, { bandwidth: 0.7 }],
  laplace: [kernels.laplace, { bandwidth: 1.3 }],
  matern32: [kernels.matern32, { bandwidth: 0.9 }],
  rationalQuadratic: [kernels.rationalQuadratic, { bandwidth: 0.9, alpha: 1.5 }],
  polynomial: [kernels.polynomial, { gamma: 0.5, offset: 1, degree: 3 }],
  cosine: [kernels.cosine, {}],
  'a norm with exponents': [rough, { p: 1.5, bandwidth: 0.8 }],
  'the largest difference': [rough, { p: Infinity, bandwidth: 0.8 }],
  'exponents apart': [rough, { innerP: 1.2, outerP: 0.7, bandwidth: 0.8, epsilon: 0 }],
  'scaled features': [kernels.gaussian, { bandwidth: 1, scale: 0.5 }],
};

/** Operators of pairwise kernels against the stored matrix, plain loops and differences. */
export function kernelOperatorSuite(name: string, place: () => Device): void {
  describe(`kernelOperator on ${name}`, () => {
    let device: Device;
    let x: Tensor<'float64'>;
    let y: Tensor<'float64'>;
    beforeAll(async () => {
      device = place();
      x = await float64(rowsX, device);
      y = await float64(rowsY, device);
    });
    const scalar = (value: number): Promise<Tensor<'float64'>> =>
      tensor(value, { device, dtype: 'float64' });

    it.each(Object.entries(CASES))('%s has the products of the stored matrix', async (_, entry) => {
      const [descriptor, options] = entry;
      const stored = await nested(await anyRunKernel(descriptor, x, y, options));
      using k = await anyKernelOperator(descriptor, x, y, options);
      expect([k.shape, k.dtype]).toEqual([[M, N], 'float64']);
      const [right, left] = [matrixOf(N, 2, 5), matrixOf(M, 2, 6)];
      const products = await nested(await k.matvec(await float64(right, device)));
      expect(difference(products, times(stored, right))).toBeLessThan(1e-12);
      const back = await nested(await k.rmatvec(await float64(left, device)));
      expect(difference(back, times(transposed(stored), left))).toBeLessThan(1e-12);
      expect(difference(await nested(await k.dense()), stored)).toBeLessThan(1e-12);
      expect(
        difference(await nested(await k.rows([3, 0])), [
          stored[3] as number[],
          stored[0] as number[],
        ]),
      ).toBeLessThan(1e-12);
      using square = await anyKernelOperator(descriptor, x, options);
      const own = await nested(await anyRunKernel(descriptor, x, options));
      expect(difference(await nested(await square.dense()), own)).toBeLessThan(1e-12);
      const diagonal = [await (await square.diagonal()).toNested<number[]>()];
      expect(difference(diagonal, [own.map((row, i) => row[i] as number)])).toBeLessThan(1e-12);
    });

    it('the Gaussian is that of plain loops, with features of their own scale and a regularised diagonal', async () => {
      const scale = [1, 0.5, 2];
      const expected = rowsX.map((a, i) =>
        rowsX.map((b, j) => {
          const s = a.reduce(
            (sum, one, k) => sum + ((one - (b[k] ?? 0)) * (scale[k] ?? 0)) ** 2,
            0,
          );
          return Math.exp(-s / (2 * 0.49)) + (i === j ? 0.25 : 0);
        }),
      );
      using k = await kernelOperator(kernels.gaussian, x, {
        bandwidth: 0.7,
        scale: await tensor(scale, { device, dtype: 'float64' }),
        regularization: 0.25,
      });
      expect(difference(await nested(await k.dense()), expected)).toBeLessThan(1e-12);
      const b = matrixOf(M, 2, 7);
      const { x: found, converged } = await cg(k, await float64(b, device), { rtol: 1e-12 });
      expect(converged).toBe(true);
      expect(difference(await nested(found), solved(expected, b))).toBeLessThan(1e-9);
    });

    it('cosine has no slope at a row of zeros, and its value is that of runKernel', async () => {
      const some = await float64(
        [
          [0, 0],
          [1, 2],
          [3, -1],
        ],
        device,
      );
      using k = await kernelOperator(kernels.cosine, some);
      const stored = await nested(await runKernel(kernels.cosine, some));
      expect(difference(await nested(await k.dense()), stored)).toBeLessThan(1e-14);
      const found = await grad(async (at: Tensor<'float64'>) => {
        const of = await kernelOperator(kernels.cosine, at);
        return (await of.matvec(await at.slice(null, 0).clone())).sum();
      })(some);
      expect((await nested(found)).flat().every(Number.isFinite)).toBe(true);
    });

    const parameters: Readonly<
      Record<string, readonly [KernelDescriptor, readonly (readonly [string, number])[], Any]>
    > = {
      gaussian: [
        kernels.gaussian,
        [
          ['bandwidth', 0.7],
          ['scale', 0.8],
        ],
        { regularization: 0.3 },
      ],
      matern52: [kernels.matern52, [['bandwidth', 0.9]], {}],
      laplace: [kernels.laplace, [['bandwidth', 0.9]], {}],
      rationalQuadratic: [
        kernels.rationalQuadratic,
        [
          ['bandwidth', 0.9],
          ['alpha', 1.5],
        ],
        {},
      ],
      'a norm': [rough, [['bandwidth', 0.9]], { p: 1.7 }],
      'an exponent in memory': [rough, [['p', 1.7]], { bandwidth: 1 }],
      regularization: [kernels.gaussian, [['regularization', 0.4]], { bandwidth: 1 }],
    };
    it.each(Object.entries(parameters))(
      'products of %s are differentiated by x and parameters, twice',
      async (_, [descriptor, named, rest]) => {
        const v = await float64(matrixOf(M, 2, 8), device);
        const energy = async (at: Tensor<'float64'>, ...values: readonly Tensor<'float64'>[]) => {
          const given = Object.fromEntries(named.map(([one], k) => [one, values[k]]));
          const of = await anyKernelOperator(descriptor, at, { ...rest, ...given });
          return (await of.matvec(v)).mul(v).square().sum();
        };
        const values = await Promise.all(named.map(([, value]) => scalar(value)));
        const directions = process.env['MERCER_TEST_FULL'] === '1' ? 2 : 1;
        const options = { key: random.key(2), order: 2, tolerance: 1e-5, directions } as const;
        await expect(checkGradients(energy, [x, ...values], options)).resolves.toBeUndefined();
      },
    );

    it('solutions are differentiated by x, both roles, and the bandwidth', async () => {
      const b = await float64(matrixOf(M, 1, 3), device);
      const energy = async (at: Tensor<'float64'>, bandwidth: Tensor<'float64'>) => {
        const of = await kernelOperator(kernels.gaussian, at, { bandwidth, regularization: 0.5 });
        const { x: found } = await cg(of, b, { rtol: 1e-13 });
        return found.mul(b).sum();
      };
      const options = { key: random.key(4), tolerance: 1e-5 };
      const at: [typeof x, typeof x] = [x, await scalar(0.8)];
      await expect(checkGradients(energy, at, options)).resolves.toBeUndefined();
    });

    it.each([2, 1.5, 3])('a root has no slope between equal rows: p = %d', async (p) => {
      const same: Matrix = [
        [1, 2],
        [1, 2],
        [0, 1],
      ];
      const at = await float64(same, device);
      const ones = await float64([[1], [1], [1]], device);
      const options = { p, bandwidth: 1, epsilon: 0 };
      const found = await grad(async (rows: Tensor<'float64'>) => {
        const k = await kernelOperator(rough, rows, options);
        return (await k.matvec(ones)).sum();
      })(at);
      const expected = await grad(async (rows: Tensor<'float64'>) =>
        (await runKernel(rough, rows, options)).sum(),
      )(at);
      expect(difference(await nested(found), await nested(expected))).toBeLessThan(1e-12);
    });

    it('float32, no features, and limits of memory', async () => {
      const single = await tensor(rowsX, { device, dtype: 'float32' });
      using k = await kernelOperator(kernels.gaussian, single, {
        bandwidth: 0.7,
        maxBytes: 1 << 20,
      });
      const stored = await nested(await runKernel(kernels.gaussian, x, { bandwidth: 0.7 }));
      const v = await tensor(matrixOf(M, 1, 3), { device, dtype: 'float32' });
      const found = await nested(await k.matvec(v));
      expect(difference(found, times(stored, matrixOf(M, 1, 3)))).toBeLessThan(1e-5);
    });

    it.each<[string, (d: Device) => Promise<unknown>, string, string]>([
      [
        'an unknown option',
        () => anyKernelOperator(kernels.gaussian, x, { bandwidth: 1, out: x } as never),
        'INVALID_ARGUMENT',
        "kernelOperator: there is no option 'out'",
      ],
      [
        'no bandwidth',
        () => anyKernelOperator(kernels.gaussian, x, {}),
        'INVALID_ARGUMENT',
        'kernelOperator: ',
      ],
      [
        'a regularised diagonal of two inputs',
        () => anyKernelOperator(kernels.gaussian, x, y, { bandwidth: 1, regularization: 1 }),
        'INVALID_ARGUMENT',
        'multiple of the identity',
      ],
      [
        'no rows',
        () => anyKernelOperator(kernels.gaussian, undefined as never, { bandwidth: 1 }),
        'INVALID_ARGUMENT',
        'kernelOperator: x: expected a tensor, got undefined',
      ],
      [
        'a batch',
        async (d) =>
          anyKernelOperator(kernels.gaussian, await tensor([[[1]]], { device: d }), {
            bandwidth: 1,
          }),
        'SHAPE_MISMATCH',
        'kernelOperator: x has shape [1, 1, 1]',
      ],
      [
        'a parameter for each batch entry',
        async (d) =>
          anyKernelOperator(kernels.gaussian, x, {
            bandwidth: await tensor([1, 2], { device: d, dtype: 'float64' }),
          }),
        'SHAPE_MISMATCH',
        'kernelOperator: bandwidth has shape [2]',
      ],
      [
        'rows of another length',
        async (d) =>
          anyKernelOperator(kernels.gaussian, x, await float64([[1]], d), { bandwidth: 1 }),
        'SHAPE_MISMATCH',
        'kernelOperator: y has shape [1, 1], and x [7, 3]',
      ],
      [
        'another dtype',
        async (d) =>
          anyKernelOperator(kernels.gaussian, x, {
            bandwidth: (await tensor(1, { device: d, dtype: 'float32' })) as never,
          }),
        'DTYPE_MISMATCH',
        'kernelOperator: bandwidth is float32',
      ],
      [
        'a bandwidth that is not positive',
        () => anyKernelOperator(kernels.gaussian, x, { bandwidth: 0 }),
        'INVALID_ARGUMENT',
        'kernelOperator: bandwidth is 0',
      ],
    ])('%s is refused', async (_, call, code, said) => {
      await expect(call(device)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(said) as string,
      });
    });

    it('keeps no memory', async () => {
      const v = await float64(matrixOf(M, 1), device);
      const call = async (): Promise<void> => {
        using k = await kernelOperator(kernels.gaussian, x, { bandwidth: 1, regularization: 0.1 });
        using _product = await k.matvec(v);
        using _rows = await k.rows([1, 2]);
        using _diagonal = await k.diagonal();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
