import { checkGradients, grad, hvp, type DerivativeMode } from '@mercer/autodiff';
import { lazyI, lazyJ, param } from '@mercer/lazy';
import { solveCholesky } from '@mercer/linalg';
import { eye, random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  centralDifferences,
  expectClose,
  expectGradient,
  gradientCheck,
} from '../../../autodiff/test/differences.mjs';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  cg,
  denseOperator,
  gmres,
  jacobi,
  kernelSolve,
  lsmr,
  lsqr,
  minres,
  pivotedCholesky,
  sparseOperator,
  storedOperator,
  type LinearOperator,
} from '../index.js';
import {
  float64,
  gaussian,
  matrixOf,
  pointsOf,
  transposed,
  type Matrix,
} from './systems.test-support.js';

type Numbers = Tensor<'float64'>;
type Call = (...args: Tensor[]) => Promise<Tensor>;

const N = 6;
const TIGHT = { rtol: 1e-13 };

const numbersOf = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

type Solve = (a: LinearOperator<'float64'>, b: Numbers) => Promise<Tensor>;

const SQUARE = matrixOf(5, 5, 3).map((row, i) => row.map((one, j) => one + (i === j ? 2 : 0)));
const SYMMETRIC = SQUARE.map((row, i) =>
  row.map((one, j) => one + (SQUARE[j]?.[i] as number) - (i === j && i > 2 ? 9 : 0)),
);
const TALL = matrixOf(7, 4, 3).map((row, i) => row.map((one, j) => one + (i === j ? 2 : 0)));

const RULES: readonly (readonly [string, Solve, Matrix])[] = [
  ['minres', async (a, b) => (await minres(a, b, TIGHT)).x, SYMMETRIC],
  ['gmres', async (a, b) => (await gmres(a, b, TIGHT)).x, SQUARE],
  ['lsqr, tall', async (a, b) => (await lsqr(a, b, TIGHT)).x, TALL],
  ['lsmr, tall', async (a, b) => (await lsmr(a, b, TIGHT)).x, TALL],
  ['lsqr, wide', async (a, b) => (await lsqr(a, b, TIGHT)).x, transposed(TALL)],
  ['lsmr, square', async (a, b) => (await lsmr(a, b, TIGHT)).x, SQUARE],
];

const isSymmetric = (matrix: Matrix): boolean => matrix === SYMMETRIC;

/** A direction in which a matrix stays symmetric if it is. */
const symmetricLike = (matrix: Matrix): number[][] => {
  const some = matrixOf(matrix.length, matrix[0]?.length ?? 0, 8);
  return isSymmetric(matrix)
    ? some.map((row, i) => row.map((one, j) => one + (some[j]?.[i] as number)))
    : some;
};

/** Derivatives along changes of two elements that keep a matrix symmetric: of `f(a + t (e_i e_j^T + e_j e_i^T))`. */
async function symmetricDifferences(
  f: Call,
  [a, b]: readonly Tensor[],
  device: Device,
): Promise<Float64Array> {
  const [n = 0] = (a as Tensor).shape;
  const found = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const unit = Array.from({ length: n }, (_, k) =>
        Array.from(
          { length: n },
          (__, l) => Number(k === i && l === j) + Number(k === j && l === i),
        ),
      );
      const along = await float64(unit, device);
      const at = async (t: number): Promise<number> =>
        Number(await (await f(await (a as Tensor).add(along.mul(t)), b as Tensor)).item());
      found[i * n + j] = ((await at(1e-5)) - (await at(-1e-5))) / 2e-5;
      found[j * n + i] = found[i * n + j] as number;
    }
  }
  return found;
}

/** Derivatives of solutions, by differences and beside those of a dense solve. */
export function gradientsSuite(name: string, place: () => Device): void {
  describe(`gradients of cg on ${name}`, () => {
    let device: Device;
    let points: Numbers;
    let b: Numbers;
    let shift: Numbers;
    let weights: Numbers;
    beforeAll(async () => {
      device = place();
      points = await float64(pointsOf(N), device);
      b = await float64(matrixOf(N, 2), device);
      shift = await tensor(0.3, { device, dtype: 'float64' });
      weights = await float64(matrixOf(N, 2, 5), device);
    });

    const kernel = (x: Tensor, a: Tensor) =>
      lazyI(x as Numbers)
        .sqdist(lazyJ(x as Numbers))
        .neg()
        .exp()
        .asOperator()
        .shift(a as Numbers);

    /** A weighted sum of the squares of the solution of a kernel system. */
    const bySolver: Call = async (x, right, a) => {
      const { x: found } = await cg(kernel(x, a), right as Numbers, TIGHT);
      return found.square().mul(weights).sum();
    };

    const byFactor: Call = async (x, right, a) => {
      const distances = x
        .reshape([N, 1])
        .sub(x.reshape([1, N]))
        .square();
      const matrix = distances
        .neg()
        .exp()
        .add((await eye(N, { device, dtype: 'float64' })).mul(a));
      const { x: found } = await solveCholesky(await matrix, right as Numbers);
      return found.square().mul(weights).sum();
    };

    it.each([
      ['points', 0],
      ['right-hand sides', 1],
      ['the shift', 2],
    ])('by %s are those of a dense solve', async (_, argnums) => {
      const found = await grad(bySolver, { argnums: argnums as 0 })(points, b, shift);
      const dense = await grad(byFactor, { argnums: argnums as 0 })(points, b, shift);
      expectClose(await numbersOf(found), await numbersOf(dense), 1e-9);
      await expectGradient(await numbersOf(found), bySolver, [points, b, shift], argnums, 1e-6);
    });

    it('of the second order, forwards over backwards and backwards twice', async () => {
      const along = await float64(matrixOf(N, 1, 6), device);
      const of = (x: Tensor): Promise<Tensor> => bySolver(x, b, shift);
      const directional = async (x: Tensor): Promise<Tensor> =>
        (await grad(of)(x)).mul(along).sum();
      const check = await gradientCheck(directional, [points], 0);
      check(await numbersOf(await grad(directional)(points)), 1e-6);
      check(await numbersOf(await hvp(of)(points, along)), 1e-6);
    });

    /** Both derivatives along a random direction of each tensor, and those of these. */
    const toSecondOrder = async (of: Call, args: readonly Tensor[]): Promise<void> => {
      const isFull = process.env['MERCER_TEST_FULL'] === '1';
      const modes: readonly DerivativeMode[] = isFull ? ['vjp', 'jvp'] : ['vjp'];
      const options = {
        key: random.key(3),
        order: 2,
        modes,
        directions: 1,
        tolerance: 1e-5,
      } as const;
      await expect(checkGradients(of, [...args], options)).resolves.toBeUndefined();
    };

    it('of the second order by right-hand sides, the shift and a bandwidth', async () => {
      const some = points.slice([0, 4]);
      await toSecondOrder(
        async (right, a, bandwidth) => {
          const distances = lazyI(some).sqdist(lazyJ(some));
          const values = distances
            .div(param(bandwidth as Numbers).square())
            .neg()
            .exp();
          const system = values.asOperator().shift(a as Numbers);
          const { x: found } = await cg(system, right as Numbers, TIGHT);
          return await found.square().sum();
        },
        [
          await float64(matrixOf(4, 1), device),
          shift,
          await tensor([0.8], { device, dtype: 'float64' }),
        ],
      );
    });

    it('of the second order of a system in text, by points and parameters', async () => {
      const aliases = ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(1)', 'g = Pm(1)'];
      const solve = kernelSolve('Exp(-g * SqDist(x, y)) * b', aliases, 'b', { axis: 'j' });
      await toSecondOrder(
        async (x, right, g, alpha) => {
          const given = [x, x, right, g] as Numbers[];
          const found = await solve(given, { ...TIGHT, alpha: alpha as Numbers });
          return await found.square().sum();
        },
        [
          await float64(pointsOf(4), device),
          await float64(matrixOf(4, 1), device),
          await tensor([1.3], { device, dtype: 'float64' }),
          shift,
        ],
      );
    });

    it('by a stored matrix', async () => {
      const matrix = await float64(gaussian(pointsOf(N), 0.3), device);
      const of = async (a: Tensor): Promise<Tensor> => {
        const { x } = await cg(denseOperator(a as Numbers), b, TIGHT);
        return x.square().mul(weights).sum();
      };
      const by = async (a: Tensor): Promise<Tensor> => {
        const { x } = await solveCholesky(a as Numbers, b);
        return x.square().mul(weights).sum();
      };
      // the solver takes the matrix as it is, the factorisation one triangle: both give the same symmetric part
      const symmetric = async (f: typeof of) => {
        const g = await grad(f)(matrix);
        return numbersOf(await g.add(g.transpose()));
      };
      expectClose(await symmetric(of), await symmetric(by), 1e-9);
    });

    it('by the values of a sparse matrix', async () => {
      const offsets = await tensor(Int32Array.of(0, 2, 4, 5), { device });
      const indices = await tensor(Int32Array.of(0, 2, 1, 2, 2), { device });
      const values = await tensor(Float64Array.of(4, 1, 3, -1, 2), { device });
      const side = await tensor(Float64Array.of(1, 2, 3), { device });
      const f: Call = async (entries, right) => {
        const rows = { offsets, indices, values: entries as Numbers, columns: 3 };
        const { x } = await gmres(await sparseOperator(rows), right as Numbers, TIGHT);
        return x.square().sum();
      };
      await expect(
        checkGradients(f, [values, side], { key: random.key(1) }),
      ).resolves.toBeUndefined();
    });

    it('go past a preconditioner that was made of the same values', async () => {
      const of: Call = async (x, right, a) => {
        const system = kernel(x, a);
        const { x: found } = await cg(system, right as Numbers, {
          ...TIGHT,
          preconditioner: await jacobi(system),
        });
        return found.square().mul(weights).sum();
      };
      const found = await grad(of)(points, b, shift);
      expectClose(
        await numbersOf(found),
        await numbersOf(await grad(bySolver)(points, b, shift)),
        1e-9,
      );
    });

    it('of a stored operator are those of the operator itself', async () => {
      const of: Call = async (x, right, a) => {
        using stored = await storedOperator(kernel(x, a));
        const { x: found } = await cg(stored, right as Numbers, TIGHT);
        return await found.square().mul(weights).sum();
      };
      for (const argnums of [0, 1, 2] as const) {
        const found = await grad(of, { argnums })(points, b, shift);
        const expected = await grad(bySolver, { argnums })(points, b, shift);
        expectClose(await numbersOf(found), await numbersOf(expected), 1e-9);
      }
    });

    describe.each(RULES)('of %s', (_, solve, matrix) => {
      const rows = matrix.length;
      const of: Call = async (a, right) => {
        const x = await solve(denseOperator(a as Numbers), right as Numbers);
        const [unknowns = 0] = x.shape;
        return x
          .square()
          .mul(await float64(matrixOf(unknowns, 2, 5), device))
          .sum();
      };

      it.each([
        ['the operator', 0],
        ['right-hand sides', 1],
      ])('by %s are differences', async (__, at) => {
        const args = [await float64(matrix, device), await float64(matrixOf(rows, 2), device)];
        const found = await grad(of, { argnums: at as 0 })(...(args as [Tensor, Tensor]));
        if (at === 0 && isSymmetric(matrix)) {
          const expected = await symmetricDifferences(of, args, device);
          const given = await found.add(found.transpose());
          expectClose(await numbersOf(given), expected, 1e-6);
        } else {
          await expectGradient(await numbersOf(found), of, args, at, 1e-6);
        }
      });

      it('of the second order', async () => {
        const right = await float64(matrixOf(rows, 2), device);
        const a = await float64(matrix, device);
        const along = await float64(symmetricLike(matrix), device);
        const directional = async (t: Tensor): Promise<Tensor> => {
          const g = await grad((one: Tensor) => of(one, right))(await a.add(along.mul(t)));
          return g.mul(along).sum();
        };
        const t = await tensor(0, { device, dtype: 'float64' });
        const found = await grad(directional)(t);
        expectClose(await numbersOf(found), await centralDifferences(directional, [t], 0), 1e-6);
      });
    });

    it('of lsqr by damp, of any shape', async () => {
      for (const matrix of [TALL, transposed(TALL)]) {
        const a = denseOperator(await float64(matrix, device));
        const right = await float64(matrixOf(matrix.length, 1), device);
        const of = async (damp: Tensor): Promise<Tensor> =>
          (await lsqr(a, right, { ...TIGHT, damp: damp as Numbers })).x.square().sum();
        const damp = await tensor(0.4, { device, dtype: 'float64' });
        const expected = await centralDifferences(of, [damp], 0);
        expectClose(await numbersOf(await grad(of)(damp)), expected, 1e-6);
      }
    });

    it('of lsqr by what x0 decides is refused', async () => {
      const a = denseOperator(await float64(transposed(TALL), device));
      const x0 = await float64(matrixOf(TALL.length, 1), device);
      const of = async (right: Tensor): Promise<Tensor> =>
        (await lsqr(a, right as Numbers, { x0 })).x.sum();
      const right = await float64(matrixOf(TALL[0]?.length ?? 0, 1), device);
      await expect(grad(of)(right)).rejects.toMatchObject({ code: 'NOT_DIFFERENTIABLE' });
    });

    it('keep no memory', async () => {
      using preconditioner = await pivotedCholesky(kernel(points, shift), { rank: 2, shift: 0.1 });
      const of: Call = async (x, right, a) => {
        const { x: found } = await cg(kernel(x, a), right as Numbers, {
          preconditioner,
        });
        using one = found;
        return await one.square().sum();
      };
      const call = async (): Promise<void> => {
        for (const one of await grad(of, { argnums: [0, 1, 2] })(points, b, shift)) one.dispose();
      };
      await call();
      expect(await memoryKept(device, call)).toEqual(NOTHING);
    });
  });
}
