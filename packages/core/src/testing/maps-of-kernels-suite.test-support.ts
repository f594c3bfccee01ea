import { checkpoint, customVjp, grad, vmap } from '@mercer/autodiff';
import { inv, invBackward } from '@mercer/linalg';
import { lazyI, lazyJ, param } from '@mercer/lazy';
import { kernels, runKernel } from '@mercer/pairwise';
import { stack, type Device, type Tensor as AnyTensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { drawnOn, expectClose } from '../../../autodiff/test/differences.mjs';

type Tensor = AnyTensor<'float64'>;
type Scalar = (x: Tensor, shared: Tensor) => unknown;

const smooth = customVjp(
  (x: AnyTensor, y: AnyTensor) => x.mul(y.sum()),
  (g, { args: [x, y] }) => [g.mul(y.sum()), g.mul(x).sum().add(y.mul(0))],
);

/** Functions of an example, (3, 2), and of what all examples share, (4, 2). */
const FUNCTIONS: Readonly<Record<string, Scalar>> = {
  'a sum over rows': (x, y) => lazyI(x).sqdist(lazyJ(y)).neg().exp().sum('j').square().sum(),
  'a log-sum-exp over the other side': (x, y) =>
    lazyI(x).sqdist(lazyJ(y)).neg().logSumExp('i').sin().sum(),
  'a parameter of each example': (x, y) =>
    lazyI(y).mul(param(x.slice(0))).sum('j').square().sum(), // prettier-ignore
  'a kernel with a bandwidth of each example': (x, y) =>
    runKernel(kernels.gaussian, x as never, y as never, { bandwidth: x.square().mean() } as never).sum(), // prettier-ignore
  'a rule of the user': (x, y) => smooth(x, y).square().sum(),
  'a checkpoint': async (x, y) => {
    const f = checkpoint((v: AnyTensor, w: AnyTensor) => v.softmax().mul(w.slice(0)));
    return (await f(x, y)).square().sum();
  },
  'a backward function': async (x) => {
    const gram = (await x.matmul(x, { transposeA: true })) as never;
    const { inverse } = await inv(gram);
    return (await invBackward(gram, { inverse: inverse })).a.square().sum();
  },
};

/** Symbolic matrices, kernels of pairs, rules of users and backward functions, mapped over examples. */
export function describeMapsOfKernels(device: () => Device): void {
  const drawn = drawnOn(device);
  const numbers = async (x: AnyTensor): Promise<Float64Array> =>
    Float64Array.from(await x.toTypedArray(), Number);

  async function expectLoop(f: Scalar, bound: number): Promise<void> {
    const [x, shared] = [await drawn([5, 3, 2], [0.4, 1.2], 1), await drawn([4, 2], [0, 1], 2)];
    const mapped = await vmap(f as (...given: Tensor[]) => Tensor, { inAxes: [0, null] })(x, shared); // prettier-ignore
    const each = [0, 1, 2, 3, 4].map(async (k) => (await f(x.slice(k), shared)) as AnyTensor);
    const expected = await stack(await Promise.all(each));
    expect(mapped.shape).toEqual(expected.shape);
    expectClose(await numbers(mapped), await numbers(expected), bound);
  }

  describe('mapped over examples as in a loop', () => {
    it.each(Object.entries(FUNCTIONS))('%s', async (name, f) => {
      await expectLoop(f, 1e-12);
      // that of a backward function is refused
      if (name === 'a backward function') return;
      const gradient = (x: Tensor, y: Tensor) => grad(f as (...given: Tensor[]) => Tensor)(x, y);
      await expectLoop(gradient, 1e-11);
      const shared = (x: Tensor, y: Tensor) =>
        grad(f as (...given: Tensor[]) => Tensor, { argnums: 1 })(x, y);
      await expectLoop(shared, 1e-11);
    });
  });
}
