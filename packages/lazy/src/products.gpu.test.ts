import { devices, planOf, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ, type LazyTensor } from './index.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('reductions through products: no device');

const U = 2 ** -24;

let seed = 7;
const random = (): number => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
const normals = Array.from(
  { length: 65537 },
  () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
);

/** Values around one of five points, or everywhere. */
const rowsOf = (rows: number, k: number, share: number, from: number): Float32Array =>
  Float32Array.from({ length: rows * k }, (_, at) => {
    const [row, column] = [Math.floor(at / k), at % k];
    const centre = normals[(131 * (row % 5) + 17 * column) % 65537] ?? 0;
    const own = normals[(from + 7919 * row + column) % 65537] ?? 0;
    return (Math.sqrt(share) * centre + Math.sqrt(1 - share) * own) / Math.sqrt(k);
  });

describe.each(gpus)('reductions through products on $id', (gpu) => {
  const isHopper = gpu.limits.kind === 'cuda' && gpu.limits.computeCapability[0] === 9;
  const put = (values: Float32Array, rows: number, k: number) =>
    tensor(values, { shape: [rows, k], dtype: 'float32', device: gpu });

  it.each([
    // the second one takes two blocks of rows
    [4096, 6000, 1000, 0],
    [15000, 9000, 512, 0],
    [4096, 6000, 1000, 0.9],
    [6000, 4096, 700, 0.5],
  ])('%d and %d rows of %d, %d of them common', { timeout: 120_000 }, async (m, n, k, share) => {
    const [a, b] = [rowsOf(m, k, share, 1), rowsOf(n, k, share, 2)];
    const c = Float32Array.from({ length: n }, (_, j) => normals[j] ?? 0);
    using x = await put(a, m, k);
    using y = await put(b, n, k);
    using w = await put(c, n, 1);
    const distance = lazyI(x).sqdist(lazyJ(y));
    const squared = (i: number, j: number): number => {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += ((a[i * k + l] ?? NaN) - (b[j * k + l] ?? NaN)) ** 2;
      return sum;
    };
    const of = (length: number) => [0, 1, 2, length - 1, Math.floor(length / 2) + 1];
    const isTold = (result: Tensor): void => {
      if (isHopper) expect(planOf(result)?.summary).toMatch(/products on tensor cores/);
    };
    using sums = await distance.neg().exp().mul(lazyJ(w)).sum('j');
    isTold(sums);
    const gotSums = await sums.toTypedArray();
    // a prepared call computes the same, for other numbers of rows with the direct kernels too
    const density = lazyI({ position: 0, dim: k })
      .sqdist(lazyJ({ position: 1, dim: k }))
      .neg()
      .exp()
      .mul(lazyJ({ position: 2, dim: 1 }));
    const prepared = await density.reduction('Sum', 'j').prepare([x, y, w]);
    using again = prepared([x, y, w]);
    expect(await again.toTypedArray()).toEqual(gotSums);
    using few = prepared([x.slice([0, 20]), y, w]);
    const gotFew = await few.toTypedArray();
    const weights = c.reduce((sum, one) => sum + Math.abs(one), 0);
    for (const [i, one] of gotFew.entries()) {
      expect(Math.abs(one - (gotSums[i] ?? NaN))).toBeLessThan(16 * U * weights);
    }
    prepared.dispose();
    for (const i of of(m)) {
      let [want, size] = [0, 0];
      for (let j = 0; j < n; j++) {
        const term = Math.exp(-squared(i, j)) * (c[j] ?? NaN);
        want += term;
        size += Math.abs(term);
      }
      expect(Math.abs((gotSums[i] ?? NaN) - want)).toBeLessThan(8 * U * size);
    }
    using least = await distance.min('i');
    isTold(least);
    const gotLeast = await least.toTypedArray();
    for (const j of of(n)) {
      const want = Math.min(...Array.from({ length: m }, (_, i) => squared(i, j)));
      const bound = (2 * Math.sqrt(k) + 7) * U * want;
      expect(Math.abs((gotLeast[j] ?? NaN) - want)).toBeLessThanOrEqual(bound);
    }
    using logs = await distance.neg().logSumExp('j');
    isTold(logs);
    const gotLogs = await logs.toTypedArray();
    for (const i of of(m)) {
      const want = Math.log(
        Array.from({ length: n }, (_, j) => Math.exp(-squared(i, j))).reduce((s, t) => s + t, 0),
      );
      expect(Math.abs((gotLogs[i] ?? NaN) - want)).toBeLessThan(60 * U * Math.max(1, want));
    }
  });

  it('of rows that begin at any element are those of their copies', async () => {
    const [m, n, k] = [4096, 6000, 1000];
    // many pairs are close, and computed again
    using a = await put(rowsOf(m, k + 4, 0.9, 1), m, k + 4);
    using b = await put(rowsOf(n, k + 4, 0.9, 2), n, k + 4);
    const [x, y] = [a.slice(null, [1, k + 1]), b.slice(null, [1, k + 1])];
    using least = await lazyI(x).sqdist(lazyJ(y)).min('j');
    if (isHopper) expect(planOf(least)?.summary).toMatch(/products on tensor cores/);
    using u = await x.contiguous();
    using v = await y.contiguous();
    using wanted = await lazyI(u).sqdist(lazyJ(v)).min('j');
    expect(await least.toTypedArray()).toEqual(await wanted.toTypedArray());
  });

  it('of the rows themselves have distance 0', async () => {
    const [m, k] = [5000, 512];
    using x = await put(rowsOf(m, k, 0.5, 3), m, k);
    const itself: LazyTensor = lazyI(x).sqdist(lazyJ(x));
    using least = await itself.min('j');
    if (isHopper) expect(planOf(least)?.summary).toMatch(/products on tensor cores/);
    expect((await least.toTypedArray()).every((one) => one === 0)).toBe(true);
  });
});
