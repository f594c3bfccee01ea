import { grad, jvp } from '@mercer/autodiff';
import {
  cholesky,
  inv,
  matmul,
  slogdet,
  solveCholesky,
  solveLU,
  solveTriangular,
} from '@mercer/linalg';
import { eye, type Tensor } from '@mercer/tensor';
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

type Results = Readonly<Record<string, Tensor>>;
type Named = (...given: readonly unknown[]) => Promise<Results>;

/** One of the results of a function, by name. */
const resultOf =
  (call: unknown, name: string): Call =>
  async (...given) =>
    (await (call as Named)(...given))[name] as Tensor;

const product = matmul as unknown as Call;

/** `x x^T + 3 I`. */
const definite = async (x: Tensor): Promise<Tensor> => {
  const whole = await product(x, x, { transposeB: true });
  return whole.add(await eye(x.shape.at(-2) ?? 0, { dtype: 'float64', device: 'cpu' }).mul(3));
};

/** `x + 3 I`. */
const regular = async (x: Tensor): Promise<Tensor> =>
  x.add(await eye(x.shape.at(-2) ?? 0, { dtype: 'float64', device: 'cpu' }).mul(3));

async function expectBoth(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
  await expectGradients(f, inputs);
  await expectSecond(f, inputs);
}

type Options = Readonly<Record<string, unknown>>;

describe('solves', () => {
  it.each<readonly [string, Options, unknown, typeof regular]>([
    ['solveLU', {}, solveLU, regular],
    ['solveLU', { rightHandSides: 'rows' }, solveLU, regular],
    ['solveLU', { refine: 2 }, solveLU, regular],
    ['solveCholesky', {}, solveCholesky, definite],
    ['solveCholesky', { uplo: 'upper', rightHandSides: 'rows' }, solveCholesky, definite],
    ['solveTriangular', {}, solveTriangular, regular],
    ['solveTriangular', { uplo: 'upper', rightHandSides: 'rows' }, solveTriangular, regular],
    ['solveTriangular', { transpose: true, unitDiagonal: true }, solveTriangular, regular],
    ['solveTriangular', { uplo: 'upper', transpose: true }, solveTriangular, regular],
    [
      'solveTriangular',
      { rightHandSides: 'rows', transpose: true, uplo: 'upper', unitDiagonal: true },
      solveTriangular,
      regular,
    ],
  ])('%s with %j', async (_, options, call, matrix) => {
    const solve = resultOf(call, 'x');
    const f: Scalar = async (a, b) => weighed(await solve(await matrix(a), b, options));
    const sides = options['rightHandSides'] === 'rows' ? [2, 3] : [3, 2];
    const a = await drawn([3, 3], [-1, 1], 1);
    await expectBoth(f, [a, await drawn(sides, [-1, 1], 2)]);
  });

  it.each([
    ['solveLU', solveLU, regular],
    ['solveCholesky', solveCholesky, definite],
    ['solveTriangular', solveTriangular, regular],
  ])('%s of batches that broadcast', async (_, call, matrix) => {
    const solve = resultOf(call, 'x');
    const f: Scalar = async (a, b) => weighed(await solve(await matrix(a), b));
    const [many, one] = [
      [2, 2, 2],
      [2, 1],
    ];
    await expectBoth(f, [await drawn(many, [-1, 1], 1), await drawn(one, [-1, 1], 2)]);
    await expectBoth(f, [await drawn([2, 2], [-1, 1], 1), await drawn([2, 2, 1], [-1, 1], 2)]);
  });

  it.each(['overwriteA', 'overwriteB', 'out'])('with %s are refused', async (option) => {
    const a = await drawn([2, 2], [1, 2], 1);
    const given = option === 'out' ? await drawn([2, 2], [0, 1]) : true;
    const solve = resultOf(solveLU, 'x');
    const f: Scalar = async (x) => weighed(await solve(x, x, { [option]: given }));
    await expect(grad(f)(a)).rejects.toThrow(
      expect.objectContaining({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining(option) as string,
      }) as Error,
    );
  });
});

describe('factors, inverses and determinants', () => {
  it.each<readonly [string, Options, unknown, string, typeof regular]>([
    ['cholesky', {}, cholesky, 'factor', definite],
    ['cholesky', { uplo: 'upper' }, cholesky, 'factor', definite],
    ['inv', {}, inv, 'inverse', regular],
    ['inv', { method: 'cholesky' }, inv, 'inverse', definite],
    ['slogdet', {}, slogdet, 'logAbsDet', regular],
    ['slogdet', { method: 'cholesky', uplo: 'upper' }, slogdet, 'logAbsDet', definite],
  ])('%s with %j', async (_, options, call, name, matrix) => {
    const result = resultOf(call, name);
    const f: Scalar = async (x) => weighed(await result(await matrix(x), options));
    await expectBoth(f, [await drawn([3, 3], [-1, 1], 1)]);
    await expectBoth(f, [await drawn([2, 2, 2], [-1, 1], 2)]);
  });

  it('the sign of a determinant is constant', async () => {
    const sign = resultOf(slogdet, 'sign');
    const found = await grad(async (x: Tensor) => sign(x), { allowUnused: true })(
      await drawn([2, 2], [1, 2], 1),
    );
    expect([...(await found.toTypedArray())]).toEqual([0, 0, 0, 0]);
  });

  it('the log marginal likelihood of a Gaussian process, by its targets and its scales', async () => {
    const points = await drawn([6, 1], [-2, 2], 3);
    const squares = await points.sub(points.transpose()).square();
    const likelihood: Scalar = async (y, scales) => {
      const [bandwidth, noise] = (await Promise.all([
        scales.slice([0, 1]).exp(),
        scales.slice([1, 2]).exp(),
      ])) as unknown as readonly [Tensor<'float64'>, Tensor<'float64'>];
      const kernel = await squares.div(bandwidth).neg().exp();
      const diagonal = eye(6, { dtype: 'float64', device: 'cpu' }).mul(noise);
      const { factor } = await cholesky(await kernel.add(diagonal));
      const { x } = await solveTriangular(factor, y as Tensor<'float64'>);
      const logs = factor.mul(await eye(6, { dtype: 'float64', device: 'cpu' })).sum(1).log().sum(); // prettier-ignore
      return x.square().sum().mul(-0.5).sub(logs);
    };
    await expectBoth(likelihood, [await drawn([6, 1], [-1, 1], 4), await drawn([2], [-1, 0], 5)]);
  });
});
