import { grad, jvp } from '@mercer/autodiff';
import {
  eigh,
  einsum,
  inv,
  lstsq,
  matmul,
  matrixPower,
  qr,
  solveCholesky,
  solveLU,
  svd,
} from '@mercer/linalg';
import { stack, tensor, type Pending, type Tensor } from '@mercer/tensor';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { centralDifferences, expectClose, type Scalar } from '../../autodiff/test/differences.mjs';

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

type T64 = Tensor<'float64'>;

const numbersOf = async (one: Tensor): Promise<readonly number[]> =>
  Array.from(await one.toTypedArray(), Number);

let x: T64;
let d: T64;
let weights: T64;
beforeAll(async () => {
  const square = async (...elements: number[]): Promise<T64> =>
    tensor(Float64Array.from(elements), { shape: [2, 2], device: 'cpu' });
  // regular, with distinct eigenvalues
  x = await square(4, 1.2, 0.7, 3);
  d = await square(1, 2, 3, 5);
  weights = await square(1, -2, 0.5, 3);
});

/** @param truth the same function, which may be called with tensors too */
async function expectFirst(f: Scalar, truth = f): Promise<void> {
  const first = await grad(f)(x);
  expectClose(await numbersOf(first), await centralDifferences(truth, [x], 0), 1e-7);
  const { tangent } = await jvp(f)([x], [d]);
  const along = (await numbersOf(await first.mul(d as Tensor))).reduce((a, b) => a + b, 0);
  expectClose([await tangent.item()], [along], 1e-10);
}

/** The gradient, and that of its product with what is not launched yet. */
async function expectBoth(f: Scalar, truth = f): Promise<void> {
  await expectFirst(f, truth);
  await expectFirst(async (a) => {
    const first = (await grad(f)(a)) as T64;
    return first.mul(d.mul(2)).sum();
  });
}

describe('products with a constant that is not launched yet', () => {
  describe.each<readonly [string, () => Pending<T64>]>([
    ['a chain', () => d.mul(2)],
    ['a product', () => d.matmul(d)],
    ['a chain of a product', () => d.matmul(d).mul(0.1)],
  ])('%s', (_, constant) => {
    it.each<readonly [string, (a: T64, c: T64) => Pending<T64>]>([
      ['matmul', (a, c) => matmul(a, c)],
      ['matmul from the left', (a, c) => matmul(c, a)],
      ['the method', (a, c) => a.matmul(c)],
      ['the method of a result', (a, c) => a.square().matmul(c)],
      ['the method and more', (a, c) => a.matmul(c).mul(2)],
      ['einsum', (a, c) => einsum('ij,jk->ik', [a, c])],
      ['a product of elements', (a, c) => a.mul(c)],
    ])('%s', async (__, call) => {
      const f = (a: Tensor, c: unknown): Pending<Tensor> =>
        call(a as T64, c as T64)
          .square()
          .sum();
      await expectBoth(
        (a) => f(a, constant()),
        async (a) => f(a, await constant()),
      );
    });
  });
});

const definite = async (a: T64): Promise<T64> => matmul(a, a, { transposeB: true });

const symmetric = async (a: T64): Promise<T64> => a.add(a.transpose());

describe('gradients of weighted sums, whose cotangents are not launched yet', () => {
  it.each<readonly [string, (a: T64) => Promise<Tensor>]>([
    ['matmul', async (a) => matmul(a, a)],
    ['matmul as a method', async (a) => a.matmul(a)],
    ['stack', async (a) => stack([a, a.mul(a)])],
    ['einsum', async (a) => einsum('ij,jk->ik', [a, a])],
    ['inv', async (a) => (await inv(a)).inverse],
    ['solveLU', async (a) => (await solveLU(a, d)).x],
    ['solveCholesky', async (a) => (await solveCholesky(await definite(a), d)).x],
    ['lstsq', async (a) => (await lstsq(a, d)).x],
    ['matrixPower', async (a) => (await matrixPower(await symmetric(a), 3)).result],
    ['eigh', async (a) => (await eigh(await symmetric(a))).values],
    ['svd', async (a) => (await svd(a)).s],
    ['qr', async (a) => (await qr(a)).q],
  ])('%s', async (_, call) => {
    await expectBoth(async (a) => {
      const result = (await call(a as T64)) as T64;
      const by = result.rank === 1 ? weights.slice(0) : weights;
      return result.mul(by).sum();
    });
  });
});

describe('a constant that is written behind a product', () => {
  const modified = expect.objectContaining({ code: 'MODIFIED' }) as Error;

  it('grad refuses it while the product is under way', async () => {
    const constant = await d.clone();
    const call = grad((a: Tensor) => {
      const product = (a as T64).matmul(constant);
      void constant.fill(0);
      return product.sum();
    })(x as Tensor);
    await expect(call).rejects.toThrow(modified);
  });

  it('jvp refuses it while the product is under way, or has computed with what it was', async () => {
    for (let again = 0; again < 4; again++) {
      const constant = await d.clone();
      const call = jvp((a: Tensor) => {
        const product = (a as T64).matmul(constant);
        void constant.fill(0);
        return product.sum();
      })([x as Tensor], [d]);
      const [made] = await Promise.allSettled([call]);
      if (made.status === 'rejected') {
        expect(made.reason).toEqual(modified);
        continue;
      }
      const expected = await d.matmul(d).sum().item();
      expect(await made.value.tangent.item()).toBe(expected);
    }
  });

  it('a result that was not launched at the call is refused too', async () => {
    const call = grad(async (a: Tensor) => {
      const constant = d.mul(2);
      const product = await matmul(a as T64, constant as never);
      await constant.fill(0);
      return product.sum();
    })(x as Tensor);
    await expect(call).rejects.toThrow(expect.objectContaining({ code: 'MODIFIED' }) as Error);
  });
});
