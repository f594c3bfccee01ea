import { describe, expect, it } from 'vitest';
import {
  checkGradients,
  cpu,
  customVjp,
  grad,
  random,
  tensor,
  unsafeKernel,
  type Tensor,
} from './index.js';

const where = { device: 'cpu' } as const;

const hasCompiler = await cpu.findCompiler().then(
  () => true,
  () => false,
);

/** A function of each element. */
const elementwise = (name: string, value: string) =>
  unsafeKernel({
    name,
    parameters: { x: { input: 'float64' }, y: { output: 'float64' }, n: { size: 'int64' } },
    sizes: ({ x }) => ({ y: x.shape, n: x.size }),
    launch: ({ n }) => ({ grid: Math.ceil(n / 256), block: 256, tasks: n }),
    cuda: `
      const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = ${value};`,
    cpu: {
      helpers: '#include <cmath>\nusing std::exp;',
      body: `for (i64 i = begin; i < end; ++i) y[i] = ${value};`,
    },
  });

type Floats = Tensor<'float64'>;

const bump = elementwise('bump', 'exp(-x[i] * x[i])');
const slope = elementwise('slope', '-2 * x[i] * exp(-x[i] * x[i])');
const curvature = elementwise('curvature', '(4 * x[i] * x[i] - 2) * exp(-x[i] * x[i])');

describe.skipIf(!hasCompiler)(
  'kernels of users in functions that are differentiated (skipped only where no C++ compiler is found)',
  () => {
    it('are refused by name, with what to do', async () => {
      using x = await tensor([0.5, 1], { dtype: 'float64', ...where });
      const f = async (w: Tensor): Promise<Tensor> => (await bump({ x: w as Floats })).sum();
      await expect(grad(f)(x)).rejects.toMatchObject({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringMatching(/^bump: cannot be differentiated, .*customVjp/) as string,
      });
      const prepared = (w: Tensor) => bump.prepare({ x: w as Floats }) as never;
      await expect(grad(prepared)(x)).rejects.toMatchObject({ code: 'NOT_DIFFERENTIABLE' });
    });

    it('have derivatives of any order that customVjp gives them', async () => {
      const slopes = customVjp(
        (x: Floats) => slope({ x }),
        (cotangent, { args: [x] }) => [curvature({ x }).mul(cotangent)],
      );
      const bumps = customVjp(
        (x: Floats) => bump({ x }),
        (cotangent, { args: [x] }) => [slopes(x).mul(cotangent)],
      );
      using x = await tensor([0.5, -1.25, 2], { dtype: 'float64', ...where });
      await checkGradients(bumps, [x], { key: random.key(1), order: 2, modes: ['vjp'] });
      const first = (w: Tensor) => grad((v: Tensor) => bumps(v as Floats).sum())(w);
      const second = grad(async (w: Tensor) => (await first(w)).sum());
      const expected = [0.5, -1.25, 2].map((v) => (4 * v * v - 2) * Math.exp(-v * v));
      const found = Array.from(await (await second(x)).toTypedArray(), Number);
      for (const [at, value] of expected.entries()) {
        expect(Math.abs((found[at] ?? NaN) - value)).toBeLessThan(1e-15);
      }
    });
  },
);
