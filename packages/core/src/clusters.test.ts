import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as mercer from './index.js';

const { lazyI, lazyJ, random } = mercer;

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

const where = { dtype: 'float64', device: 'cpu' } as const;
const points = (seed: number, rows: number, dim: number) =>
  random.uniform([rows, dim], { key: random.key(seed), ...where });

describe('clusters inside grad', () => {
  it('centroids have derivatives by points and by weights', async () => {
    const labels = await mercer.tensor(Int32Array.of(0, 2, 2, 0, 1, 2), { device: 'cpu' });
    const weights = (await points(2, 6, 1)).reshape([6]);
    const of = async (x: mercer.Tensor<'float64'>, w: mercer.Tensor<'float64'>) => {
      const { centroids } = await mercer.clusterCentroids(x, labels, { count: 3, weights: w });
      return centroids.square().sum();
    };
    await expect(
      mercer.checkGradients(of, [await points(1, 6, 2), weights], {
        key: random.key(3),
        order: 2,
      }),
    ).resolves.toBeUndefined();
    const plain = async (x: mercer.Tensor<'float64'>) => {
      const { centroids } = await mercer.clusterCentroids(x, labels, { count: 3 });
      return centroids.square().sum();
    };
    await expect(
      mercer.checkGradients(plain, [await points(1, 6, 2)], { key: random.key(3), order: 2 }),
    ).resolves.toBeUndefined();
  });

  it('truncated sums have derivatives by points, by weights and by the bandwidth', async () => {
    const x = await points(1, 60, 2);
    using near = await mercer.truncatedRanges(x, x, { cutoff: 0.3, clusterSize: 5 });
    expect(near.pairs).toBeLessThan(3000);
    const { ranges } = near;
    const of = async (
      at: mercer.Tensor<'float64'>,
      b: mercer.Tensor<'float64'>,
      scale: mercer.Tensor<'float64'>,
    ) => {
      const sorted = await near.sortI(at);
      const gaussian = lazyI(sorted).sqdist(lazyJ(sorted)).mul(mercer.param(scale)).neg().exp();
      const sums = await gaussian.mul(lazyJ(await near.sortJ(b))).sum('j', { ranges });
      return (await near.restore(sums)).square().sum();
    };
    const scale = await mercer.tensor([3], where);
    await expect(
      mercer.checkGradients(of, [x, await points(4, 60, 1), scale], { key: random.key(5) }),
    ).resolves.toBeUndefined();
  });
});

it('a truncated sum is a symmetric operator of solvers', async () => {
  const x = await points(6, 300, 2);
  const b = await points(7, 300, 1);
  const h = 0.03;
  using near = await mercer.truncatedRanges(x, x, {
    kernel: 'gaussian',
    bandwidth: h,
    error: 1e-14,
    clusterSize: 8,
  });
  expect(near.pairs).toBeLessThan(0.7 * 300 ** 2);
  const gaussian = (of: mercer.Tensor<'float64'>) =>
    lazyI(of)
      .sqdist(lazyJ(of))
      .mul(-1 / (2 * h ** 2))
      .exp();
  const kernel = gaussian(near.x);
  const system = mercer
    .operator({
      shape: [300, 300],
      dtype: 'float64',
      device: 'cpu',
      matvec: (v) => kernel.mul(lazyJ(v)).sum('j', { ranges: near.ranges }),
      rmatvec: 'symmetric',
    })
    .shift(0.1);
  const { x: sorted, converged } = await mercer.cg(system, await near.sortJ(b), { rtol: 1e-12 });
  expect(converged).toBe(true);
  const found = await near.restore(sorted);
  const back = await gaussian(x).matmul(found);
  const residual = await back.add(found.mul(0.1)).sub(b);
  expect(await (await residual.abs()).max().item()).toBeLessThan(1e-11);
});
