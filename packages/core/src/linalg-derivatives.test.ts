import { grad, jvp } from '@mercer/autodiff';
import { matmul } from '@mercer/linalg';
import type { Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  centralDifferences,
  drawn,
  expectClose,
  type Scalar,
} from '../../autodiff/test/differences.mjs';

type Call = (...given: readonly unknown[]) => Promise<Tensor>;

const weighed = async (result: Tensor, seed = 7): Promise<Tensor> =>
  result
    .mul(await drawn(result.shape, [0.5, 1.5], seed))
    .square()
    .sum();

/** First derivatives backwards and forwards, by each of the inputs. */
async function expectGradients(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
  const argnums = inputs.map((_, k) => k);
  const found = await grad(f, { argnums })(...inputs);
  for (const by of argnums) {
    expect(found[by]?.shape).toEqual(inputs[by]?.shape);
    const numbers = await found[by]?.toTypedArray();
    expectClose(numbers ?? [], await centralDifferences(f, inputs, by), 1e-6);
  }
  const changes = await Promise.all(inputs.map(({ shape }, k) => drawn(shape, [-1, 1], 10 + k)));
  const { tangent } = await jvp(f)([...inputs], changes);
  let along = 0;
  for (const [k, one] of found.entries()) {
    along += Number(
      await one
        .mul(changes[k] as never)
        .sum()
        .item(),
    );
  }
  expectClose([await tangent.item()], [along], 1e-10);
}

/** Second derivatives: the gradient of a weighted sum of gradients. */
async function expectSecond(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
  const argnums = inputs.map((_, k) => k);
  const slopes: Scalar = async (...given) => {
    const found = await grad(f, { argnums })(...given);
    const parts = await Promise.all(
      found.map(async (one, k) => one.mul(await drawn(one.shape, [-1, 1], 20 + k)).sum()),
    );
    let sum: Tensor = await drawn([], [0, 0]);
    for (const one of parts) sum = (await sum.add(one as never)) as Tensor;
    return sum;
  };
  const found = await grad(slopes, { argnums })(...inputs);
  for (const by of argnums) {
    const numbers = await found[by]?.toTypedArray();
    expectClose(numbers ?? [], await centralDifferences(slopes, inputs, by), 1e-5);
  }
}

describe('matrix products', () => {
  const product = matmul as unknown as Call;

  it.each([
    [[2, 3], [3, 4], {}],
    [[3, 2], [3, 4], { transposeA: true, alpha: 1.7 }],
    [[2, 3], [4, 3], { transposeB: true }],
    [[3, 2], [4, 3], { transposeA: true, transposeB: true }],
    [[5, 2, 3], [3, 4], {}],
    [[3, 2], [5, 4, 3], { transposeA: true, transposeB: true, alpha: -0.5 }],
    [[5, 1, 2, 3], [2, 3, 4], {}],
  ])('of %j and %j with %j', async (left, right, options) => {
    const inputs = [await drawn(left, [-1, 1], 1), await drawn(right, [-1, 1], 2)];
    const f: Scalar = async (a, b) => weighed(await product(a, b, options));
    await expectGradients(f, inputs);
    await expectSecond(f, inputs);
  });

  it('as a method, of results that are not there yet, and of one tensor twice', async () => {
    const f: Scalar = async (a) => {
      const x = a.mul(2) as unknown as Tensor<'float64'>;
      return weighed(await x.matmul(x.sin(), { transposeB: true }).matmul(a as never));
    };
    const inputs = [await drawn([3, 2], [-1, 1], 1)];
    await expectGradients(f, inputs);
    await expectSecond(f, inputs);
  });

  it('by one factor alone', async () => {
    const [a, b] = [await drawn([2, 3], [-1, 1], 1), await drawn([3, 2], [-1, 1], 2)];
    await expectGradients(async (x) => weighed(await product(x, b)), [a]);
    await expectGradients(async (x) => weighed(await product(a, x)), [b]);
  });

  it('into a tensor that exists are refused', async () => {
    const a = await drawn([2, 2], [-1, 1], 1);
    const out = await drawn([2, 2], [0, 1]);
    const f: Scalar = async (x) => weighed(await product(x, x, { out, beta: 1 }));
    await expect(grad(f)(a)).rejects.toThrow(
      expect.objectContaining({ code: 'NOT_DIFFERENTIABLE' }) as Error,
    );
  });
});
