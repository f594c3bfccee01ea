import { grad, hessian, hvp, jvp } from '@mercer/autodiff';
import {
  cholesky,
  eigh,
  eighBackward,
  einsum,
  inv,
  kron,
  kronMatvec,
  lstsq,
  matmul,
  matrixPower,
  qr,
  logdet,
  solveCholesky,
  solveLU,
  solveTriangular,
  svd,
  svdBackward,
} from '@mercer/linalg';
import { eye, tensor, type Tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  drawnOn,
  expectClose,
  expectGradient,
  type Scalar,
} from '../../../autodiff/test/differences.mjs';
import { expectGradients, weighedOn } from './expect-gradients.test-support.js';

/** Derivatives through linear algebra. */
export function describeLinalgDerivatives(device: () => Device): void {
  const drawn = drawnOn(device);

  type Call = (...given: readonly unknown[]) => Promise<Tensor>;

  const weighed = weighedOn(device);

  const numbersOf = async (x: Tensor): Promise<Float64Array> =>
    Float64Array.from(await x.toTypedArray(), Number);

  /** First derivatives, backwards by each of the inputs and forwards. */
  async function expectFirst(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
    const found = await expectGradients(f, inputs);
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
      await expectGradient(numbers ?? [], slopes, inputs, by, 1e-6);
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
      await expectFirst(f, inputs);
      await expectSecond(f, inputs);
    });

    it('as a method, of results that are not there yet, and of one tensor twice', async () => {
      const f: Scalar = async (a) => {
        const x = a.mul(2) as unknown as Tensor<'float64'>;
        return weighed(await x.matmul(x.sin(), { transposeB: true }).matmul(a as never));
      };
      const inputs = [await drawn([3, 2], [-1, 1], 1)];
      await expectFirst(f, inputs);
      await expectSecond(f, inputs);
    });

    it.each(['float16', 'bfloat16'] as const)(
      'of %s, with gradients of the same',
      async (dtype) => {
        const [wideA, wideB] = [await drawn([3, 4], [-1, 1], 1), await drawn([4, 2], [-1, 1], 2)];
        const [a, b] = [await wideA.cast(dtype), await wideB.cast(dtype)];
        const loss = async (x: Tensor, y: Tensor): Promise<Tensor> =>
          (await product(x, y)).square().sum();
        const found = await grad(loss, { argnums: [0, 1] })(a, b);
        const single = [await a.cast('float32'), await b.cast('float32')] as const;
        const expected = await grad(loss, { argnums: [0, 1] })(...single);
        for (const [k, one] of found.entries()) {
          expect(one.dtype).toBe(dtype);
          const rounded = await expected[k]!.cast(dtype);
          expect(await one.toNested()).toEqual(await rounded.toNested());
        }
      },
    );

    it('by one factor alone', async () => {
      const [a, b] = [await drawn([2, 3], [-1, 1], 1), await drawn([3, 2], [-1, 1], 2)];
      await expectFirst(async (x) => weighed(await product(x, b)), [a]);
      await expectFirst(async (x) => weighed(await product(a, x)), [b]);
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
    return whole.add(await eye(x.shape.at(-2) ?? 0, { dtype: x.dtype, device: device() }).mul(3));
  };

  /** `x + 3 I`. */
  const regular = async (x: Tensor): Promise<Tensor> =>
    x.add(await eye(x.shape.at(-2) ?? 0, { dtype: x.dtype, device: device() }).mul(3));

  async function expectBoth(f: Scalar, inputs: readonly Tensor[]): Promise<void> {
    await expectFirst(f, inputs);
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
      ['logdet', {}, logdet, 'logAbs', regular],
      ['logdet', { method: 'cholesky', uplo: 'upper' }, logdet, 'logAbs', definite],
    ])('%s with %j', async (_, options, call, name, matrix) => {
      const result = resultOf(call, name);
      const f: Scalar = async (x) => weighed(await result(await matrix(x), options));
      await expectBoth(f, [await drawn([3, 3], [-1, 1], 1)]);
      await expectBoth(f, [await drawn([2, 2, 2], [-1, 1], 2)]);
    });

    it('the sign of a determinant is constant', async () => {
      const sign = resultOf(logdet, 'sign');
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
        const diagonal = eye(6, { dtype: 'float64', device: device() }).mul(noise);
        const { factor } = await cholesky(await kernel.add(diagonal));
        const { x } = await solveTriangular(factor, y as Tensor<'float64'>);
        const logs = factor.mul(await eye(6, { dtype: 'float64', device: device() })).sum(1).log().sum(); // prettier-ignore
        return x.square().sum().mul(-0.5).sub(logs);
      };
      await expectBoth(likelihood, [await drawn([6, 1], [-1, 1], 4), await drawn([2], [-1, 0], 5)]);
    });
  });

  describe('decompositions', () => {
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
    const SQUARE = [3, 3];
    const TALL = [2, 3, 2];
    const WIDE = [2, 2, 3];

    it.each<readonly [string, readonly string[], readonly number[], unknown, typeof regular]>([
      ['eigh', ['values'], SQUARE, eigh, definite],
      ['eigh', ['vectors'], SQUARE, eigh, definite],
      ['eigh', ['values', 'vectors'], TALL, eigh, definite],
      ['svd', ['s'], SQUARE, svd, plain],
      ['svd', ['u'], TALL, svd, plain],
      ['svd', ['vh'], WIDE, svd, plain],
      ['svd', ['u', 's', 'vh'], TALL, svd, plain],
      ['svd', ['u', 's', 'vh'], WIDE, svd, plain],
      ['qr', ['q', 'r'], SQUARE, qr, plain],
      ['qr', ['q'], TALL, qr, plain],
      ['qr', ['r'], TALL, qr, plain],
      ['qr', ['q'], WIDE, qr, plain],
      ['qr', ['r'], WIDE, qr, plain],
      ['qr', ['q', 'r'], WIDE, qr, plain],
    ])('%s, of %j, shape %j', async (_, names, shape, call, matrix) => {
      await expectBoth(squaresOf(call, names, matrix), [await drawn(shape, [-1, 1], 2)]);
    });

    it.each<readonly [readonly number[], readonly number[], Options]>([
      [[2, 4, 2], [4, 2], {}],
      [[2, 4], [2, 2, 1], {}],
      [[4, 2], [2, 3, 4], { rightHandSides: 'rows' }],
    ])('lstsq, of %j and %j with %j', async (left, right, options) => {
      const solve = resultOf(lstsq, 'x');
      const f: Scalar = async (a, b) => weighed(await solve(a, b, options));
      const inputs = [await drawn(left, [-1, 1], 1), await drawn(right, [-1, 1], 2)];
      await expectBoth(f, inputs);
      const values = resultOf(lstsq, 'singularValues');
      const all: Scalar = async (a, b) =>
        (await f(a, b)).add(await weighed(await values(a, b, options)));
      await expectBoth(all, inputs);
    });

    it('lstsq of equal singular values, of the second order', async () => {
      const solve = resultOf(lstsq, 'x');
      const f: Scalar = async (b) =>
        weighed(await solve(await eye(3, { dtype: 'float64', device: device() }).add(b), b));
      await expectSecond(f, [await drawn([3, 3], [0, 0], 2)]);
    });

    it.each([-0.5, 0.5, 3])('matrixPower of %d', async (power) => {
      const result = resultOf(matrixPower, 'result');
      const f: Scalar = async (x) => weighed(await result(await definite(x), power, { eps: 0.1 }));
      await expectBoth(f, [await drawn([2, 3, 3], [-1, 1], 1)]);
    });

    it('hvp and hessian of a singular value', async () => {
      const f: Scalar = async (x) => (await svd(x as Tensor<'float64'>)).s.square().slice(0);
      const x = await drawn([3, 2], [-1, 1], 4);
      const direction = await drawn([3, 2], [-1, 1], 5);
      const whole = (await hessian(f)(x)).reshape([6, 6]);
      const along = await product(whole, direction.reshape([6, 1]));
      const found = await hvp(f)(x, direction);
      expectClose(await numbersOf(found), await numbersOf(along), 1e-10);
      const slopes: Scalar = async (one) => (await grad(f)(one)).mul(direction).sum();
      await expectGradient(await numbersOf(found), slopes, [x], 0, 1e-6);
    });

    it('matrixPower refuses a derivative of its errors', async () => {
      const x = await eye(2, { dtype: 'float64', device: device() });
      const f: Scalar = async (one) => (await resultOf(matrixPower, 'errors')(one, 2)).sum();
      const refusal = expect.objectContaining({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringContaining('matrixPower') as string,
      }) as Error;
      await expect(grad(f)(x)).rejects.toThrow(refusal);
      await expect(jvp(f)([x], [x])).rejects.toThrow(refusal);
    });

    it.each([
      ['eigh', resultOf(eigh, 'vectors'), [2, 0, 0]],
      ['svd', resultOf(svd, 'u'), [0, 3, 2]],
      ['svd', resultOf(svd, 's'), [3, 0]],
      ['qr', resultOf(qr, 'r'), [2, 0, 3]],
      ['lstsq', async (x: Tensor) => resultOf(lstsq, 'x')(x, x), [0, 2]],
      ['matrixPower', async (x: Tensor) => resultOf(matrixPower, 'result')(x, 0.5), [0, 0]],
    ] as readonly (readonly [string, Call, readonly number[]])[])(
      '%s of an empty matrix',
      async (_, call, shape) => {
        const x = await drawn(shape, [0, 1], 1);
        const f: Scalar = async (one) => (await call(one)).sum();
        expect((await grad(f)(x)).shape).toEqual(shape);
      },
    );

    it('differ from the backward functions by rounding alone, at equal values too', async () => {
      const x = await tensor([[2, 0, 0], [0, 2, 0], [0, 0, 5]], { dtype: 'float64', device: device() }); // prettier-ignore
      const weights = await drawn([3, 3], [-1, 1], 3);
      const saved = await eigh(x);
      const { a: backward } = await eighBackward({ vectors: weights }, saved);
      const found = await grad(async (a: Tensor) =>
        (await resultOf(eigh, 'vectors')(a)).mul(weights).sum(),
      )(x);
      expectClose(await numbersOf(found), await numbersOf(backward), 1e-14);
      const singular = await svd(x);
      const { a: other } = await svdBackward({ u: weights }, singular);
      const ofSvd = await grad(async (a: Tensor) =>
        (await resultOf(svd, 'u')(a)).mul(weights).sum(),
      )(x);
      expectClose(await numbersOf(ofSvd), await numbersOf(other), 1e-14);
    });

    it('of a matrix without a result are NaN', async () => {
      const x = await tensor([[NaN, 0], [0, 1]], { dtype: 'float64', device: device() }); // prettier-ignore
      for (const call of [resultOf(eigh, 'vectors'), resultOf(svd, 'u'), resultOf(qr, 'q')]) {
        const found = await grad(async (a: Tensor) => (await call(a)).sum())(x);
        expect([...(await found.toTypedArray())]).toEqual([NaN, NaN, NaN, NaN]);
      }
    });

    it.each([
      ['eigh', resultOf(eigh, 'vectors')],
      ['svd', resultOf(svd, 'u')],
      ['qr', resultOf(qr, 'q')],
      ['lstsq', async (x: Tensor) => resultOf(lstsq, 'x')(x, x.square())],
      ['matrixPower', async (x: Tensor) => resultOf(matrixPower, 'result')(x, -0.5)],
      ['einsum', async (x: Tensor) => einsum('ij,kj->ik', [x, x] as Tensor<'float64'>[])],
    ] as readonly (readonly [string, Call])[])('%s of float32', async (_, call) => {
      const weights = await drawn([3, 3], [0.5, 1.5], 7);
      const f: Scalar = async (x) => {
        const result = await call(await definite(x));
        expect(result.dtype).toBe(x.dtype);
        return result.square().mul(weights.cast(x.dtype)).sum();
      };
      const second: Scalar = async (x) => (await grad(f)(x)).square().sum();
      const x = await drawn([3, 3], [-1, 1], 1);
      for (const one of [f, second]) {
        const narrow = await grad(one)(await x.cast('float32'));
        expect(narrow.dtype).toBe('float32');
        const wide = await numbersOf(await grad(one)(x));
        const largest = Math.max(...wide.map(Math.abs));
        const found = (await numbersOf(narrow)).map((v) => v / largest);
        expectClose(found, wide.map((v) => v / largest), 1e-3); // prettier-ignore
      }
    });
  });

  describe('einsum', () => {
    it.each<readonly [string, readonly (readonly number[])[]]>([
      [
        'ij,jk->ik',
        [
          [2, 3],
          [3, 4],
        ],
      ],
      [
        'ij,jk',
        [
          [2, 3],
          [3, 4],
        ],
      ],
      [
        'bij,bjk->bik',
        [
          [2, 2, 3],
          [2, 3, 2],
        ],
      ],
      ['ij->', [[2, 3]]],
      ['ij->j', [[2, 3]]],
      ['ij->ji', [[2, 3]]],
      ['ii->i', [[3, 3]]],
      ['ii', [[3, 3]]],
      ['iij->j', [[2, 2, 3]]],
      [
        'iii,ij->ij',
        [
          [2, 2, 2],
          [2, 3],
        ],
      ],
      ['ij,k->i', [[2, 3], [4]]],
      ['i,j,k->kij', [[2], [3], [2]]],
      [
        'ij,jk,kl,il->',
        [
          [2, 3],
          [3, 2],
          [2, 2],
          [2, 2],
        ],
      ],
      [
        '...ij,...jk->...ik',
        [
          [2, 1, 2, 3],
          [3, 3, 2],
        ],
      ],
      [
        '...i,i...->...',
        [
          [2, 3],
          [3, 1],
        ],
      ],
      ['i...,...->i...', [[3, 1], [2]]],
      [',ij->ij', [[], [2, 2]]],
      [
        'ij,jk->ik',
        [
          [2, 1],
          [1, 2],
        ],
      ],
    ])('%s of %j', async (subscripts, shapes) => {
      // prettier-ignore
      const inputs = await Promise.all(shapes.map((shape, k) => drawn(shape, [-1, 1], 1 + k)));
      const f: Scalar = async (...given) =>
        weighed(await einsum(subscripts, given as readonly Tensor<'float64'>[]));
      await expectBoth(f, inputs);
    });

    it('of one tensor twice, of results that are not there yet, and of empty axes', async () => {
      const twice: Scalar = async (x) => {
        const one = x as Tensor<'float64'>;
        return weighed(await einsum('ij,kj->ik', [one.sin(), one]));
      };
      await expectBoth(twice, [await drawn([2, 3], [-1, 1], 1)]);
      const empty = await drawn([0, 3], [0, 1], 1);
      const sum: Scalar = async (x) => einsum('ij->', [x as Tensor<'float64'>]);
      expect((await grad(sum)(empty)).shape).toEqual([0, 3]);
      const b = await drawn([2, 3], [0, 1], 1);
      const none: Scalar = async (x) => einsum('ij,kj->', [x as Tensor<'float64'>, empty]);
      expect([...(await (await grad(none)(b)).toTypedArray())]).toEqual(
        new Array<number>(6).fill(0),
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
}
