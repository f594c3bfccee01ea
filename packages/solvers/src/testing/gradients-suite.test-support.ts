import { grad, hvp } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { solveCholesky } from '@mercer/linalg';
import { eye, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { centralDifferences, expectClose } from '../../../autodiff/test/differences.mjs';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { cg, denseOperator, jacobi, pivotedCholesky } from '../index.js';
import { float64, gaussian, matrixOf, pointsOf } from './systems.test-support.js';

type Numbers = Tensor<'float64'>;
type Call = (...args: Tensor[]) => Promise<Tensor>;

const N = 6;
const TIGHT = { rtol: 1e-13 };

const numbersOf = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

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
      expectClose(
        await numbersOf(found),
        await centralDifferences(bySolver, [points, b, shift], argnums),
        1e-6,
      );
    });

    it('of the second order, forwards over backwards and backwards twice', async () => {
      const along = await float64(matrixOf(N, 1, 6), device);
      const of = (x: Tensor): Promise<Tensor> => bySolver(x, b, shift);
      const directional = async (x: Tensor): Promise<Tensor> =>
        (await grad(of)(x)).mul(along).sum();
      const expected = await centralDifferences(directional, [points], 0);
      expectClose(await numbersOf(await grad(directional)(points)), expected, 1e-6);
      expectClose(await numbersOf(await hvp(of)(points, along)), expected, 1e-6);
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
