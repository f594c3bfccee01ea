import { grad, jvp } from '@mercer/autodiff';
import {
  cholesky,
  eigh,
  inv,
  kron,
  kronMatvec,
  lstsq,
  matmul,
  matrixPower,
  qr,
  slogdet,
  solveCholesky,
  solveLU,
  solveTriangular,
  svd,
} from '@mercer/linalg';
import { eye, type Tensor } from '@mercer/tensor';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  centralDifferences,
  drawn,
  expectClose,
  type Scalar,
} from '../../autodiff/test/differences.mjs';

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

type Call = (...given: readonly unknown[]) => Promise<Tensor>;

const weighed = async (result: Tensor, seed = 7): Promise<Tensor> =>
  result
    .mul(await drawn(result.shape, [0.5, 1.5], seed))
    .square()
    .sum();

/** First derivatives backwards, by each of the inputs. */
async function expectBackward(f: Scalar, inputs: readonly Tensor[]): Promise<readonly Tensor[]> {
  const argnums = inputs.map((_, k) => k);
  const found = await grad(f, { argnums })(...inputs);
  for (const by of argnums) {
    expect(found[by]?.shape).toEqual(inputs[by]?.shape);
    const numbers = await found[by]?.toTypedArray();
    expectClose(numbers ?? [], await centralDifferences(f, inputs, by), 1e-6);
  }
  return found;
}

/** The same, and forwards. */
async function expectGradients(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
  const found = await expectBackward(f, inputs);
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

describe('decompositions, by their backward rules', () => {
  /** A sum of all results that does not depend on the signs of vectors. */
  const squaresOf =
    (call: unknown, names: readonly string[], matrix: (x: Tensor) => Promise<Tensor>): Scalar =>
    async (x) => {
      const results = await (call as Named)(await matrix(x));
      let sum = await drawn([], [0, 0]);
      for (const [k, name] of names.entries()) {
        const one = results[name] as Tensor<'float64'>;
        const weights = await drawn(one.shape, [0.5, 1.5], 7 + k);
        sum = await sum.add(one.square().mul(weights).sum());
      }
      return sum;
    };
  const plain = async (x: Tensor): Promise<Tensor> => x;

  it.each<readonly [string, readonly string[], unknown, typeof regular]>([
    ['eigh', ['values'], eigh, definite],
    ['eigh', ['values', 'vectors'], eigh, definite],
    ['svd', ['s'], svd, plain],
    ['svd', ['u', 's', 'vh'], svd, plain],
    ['qr', ['q', 'r'], qr, plain],
  ])('%s, of %j', async (_, names, call, matrix) => {
    const f = squaresOf(call, names, matrix);
    await expectBackward(f, [await drawn([3, 3], [-1, 1], 1)]);
    await expectBackward(f, [await drawn([2, 3, 2], [-1, 1], 2)]);
  });

  it('lstsq, with right-hand sides in columns and in rows', async () => {
    const solve = resultOf(lstsq, 'x');
    for (const [rightHandSides, sides] of [
      ['columns', [4, 2]],
      ['rows', [2, 4]],
    ] as const) {
      const f: Scalar = async (a, b) => weighed(await solve(a, b, { rightHandSides }));
      const a = await drawn([2, 4, 2], [-1, 1], 1);
      await expectBackward(f, [a, await drawn(sides, [-1, 1], 2)]);
    }
  });

  it('matrixPower', async () => {
    const power = resultOf(matrixPower, 'result');
    const f: Scalar = async (x) => weighed(await power(await definite(x), -0.5, { eps: 0.1 }));
    await expectBackward(f, [await drawn([2, 3, 3], [-1, 1], 1)]);
  });

  it.each<readonly [string, string, Call]>([
    ['lstsq', 'singularValues', async (x) => resultOf(lstsq, 'singularValues')(x, x)],
    ['matrixPower', 'errors', async (x) => resultOf(matrixPower, 'errors')(x, 2)],
  ])('%s refuses a gradient of its %s', async (name, _, call) => {
    const x = await eye(2, { dtype: 'float64', device: 'cpu' });
    await expect(grad(async (one: Tensor) => (await call(one)).sum())(x)).rejects.toThrow(
      expect.objectContaining({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining(name) as string,
      }) as Error,
    );
  });

  it('of the second order are refused by name', async () => {
    const f = squaresOf(svd, ['s', 'u'], plain);
    const slope: Scalar = async (x) => (await grad(f)(x)).square().sum();
    await expect(grad(slope)(await drawn([3, 2], [-1, 1], 1))).rejects.toThrow(
      expect.objectContaining({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining('svdBackward') as string,
      }) as Error,
    );
  });
});

describe('Kronecker products', () => {
  it.each<readonly [string, readonly (readonly number[])[], unknown]>([
    [
      'kron',
      [
        [2, 3],
        [3, 2],
      ],
      kron,
    ],
    [
      'kron',
      [
        [2, 1, 2, 1],
        [3, 1, 2],
      ],
      kron,
    ],
    ['kronMatvec', [[2, 3], [4, 2], [6]], kronMatvec],
    [
      'kronMatvec',
      [
        [2, 1, 2],
        [2, 2],
        [3, 1, 4],
      ],
      kronMatvec,
    ],
  ])('%s of %j', async (_, shapes, call) => {
    const inputs = await Promise.all(shapes.map((shape, k) => drawn(shape, [-1, 1], 1 + k)));
    await expectBoth(async (...given) => weighed(await (call as Call)(...given)), inputs);
  });
});
