import { device, planOf, zeros, type Device, type Tensor } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { lazyI, lazyJ, type LazyTensor } from './index.js';

const hasNvrtc = nvrtcFound();

/** A GPU that accepts launches: which reductions read squared distances that products gave. */
describe.skipIf(!hasNvrtc)('reductions behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 34 });
    await useFakeSolvers();
    gpu = device('cuda:0');
    // the fake library multiplies: few pairs are worth while on a small GPU
    vi.spyOn(gpu, 'limits', 'get').mockReturnValue({ ...gpu.limits, multiprocessors: 1 } as never);
  });

  afterEach(() => {
    gpu.memoryLimitBytes = undefined;
  });

  const made = (...shape: number[]) => zeros(shape, { dtype: 'float32', device: gpu });
  const products = async (work: () => Promise<Tensor>): Promise<number> => {
    const calls = await callsOf(async () => {
      (await work()).dispose();
      await gpu.synchronize();
    });
    return calls.filter((call) => call.startsWith('matmul ')).length;
  };
  const [m, n] = [256, 300];
  const sides = async (k: number): Promise<[LazyTensor, LazyTensor, LazyTensor]> => [
    lazyI(await made(m, k)),
    lazyJ(await made(n, k)),
    lazyJ(await made(n, 1)),
  ];

  it('multiply once for each chunk, over either axis, whatever is summed', async () => {
    const [x, y, b] = await sides(1000);
    const gaussian = x.sqdist(y).neg().exp();
    const sum = await gaussian.mul(b).sum('j');
    expect(planOf(sum)?.summary).toMatchInlineSnapshot(
      `"products centre, products parts a, products parts b, products 4 x 256, pairwise sum of (a - b) * (a - b), float32, products on tensor cores (4 chunks of 256, pairs nearer than 0.38 of their norms by differences), row unaligned x row unaligned, map-reduce float32 Sum over j of 1, i 0 j 1, pairs 1, 1 rows a thread, tiles of 32, pairs staged, 2 parts, map-reduce float32 Sum over j of 1, i 0 j 1, pairs 1, 1 rows a thread, tiles of 32, pairs staged, 2 parts, merge"`,
    );
    expect(await products(() => gaussian.mul(b).sum('j'))).toBe(4);
    expect(await products(() => gaussian.sum('i'))).toBe(4);
    expect(await products(() => y.sqdist(x).sqrt().max('j'))).toBe(4);
    expect(await products(() => gaussian.logSumExp('j'))).toBe(4);
  });

  it('take blocks of rows that fit, and none where they would be thin', async () => {
    const within = (bytes: number): void => {
      gpu.memoryLimitBytes = gpu.memory().liveBytes + bytes;
    };
    const many = lazyJ(await made(3000, 136));
    const few = lazyI(await made(1100, 136));
    // a quarter of what is left holds 1060 rows of squared distances
    within(4 * 4 * 1060 * 3000);
    expect(await products(() => few.sqdist(many).sum('j'))).toBe(2);
    gpu.memoryLimitBytes = undefined;
    const [x, y] = [await made(1100, 136), await made(3000, 136)];
    const placeholders = [
      lazyI({ position: 0, dim: 136 }),
      lazyJ({ position: 1, dim: 136 }),
    ] as const;
    const sum = placeholders[0].sqdist(placeholders[1]).reduction('Sum', 'j');
    // prepared for rows that are one block
    within(4 * 4 * 1060 * 3000);
    const prepared = await sum.prepare([await made(600, 136), y]);
    expect(await products(async () => prepared([x, y]))).toBe(2);
    prepared.dispose();
    within(4 * 4 * 500 * 3000);
    expect(await products(() => few.sqdist(many).max('j'))).toBe(0);
  });

  it('serve prepared calls, which have the direct kernels for few rows', async () => {
    const k = 1000;
    const [a, b, few, column] = [
      await made(m, k),
      await made(n, k),
      await made(3, k),
      await made(3, 1),
    ];
    const w = await made(n, 1);
    const density = lazyI({ position: 0, dim: k })
      .sqdist(lazyJ({ position: 1, dim: k }))
      .neg()
      .exp()
      .mul(lazyJ({ position: 2, dim: 1 }))
      .reduction('Sum', 'j');
    const prepared = await density.prepare([a, b, w]);
    expect(await products(async () => prepared([a, b, w]))).toBe(4);
    expect(await products(async () => prepared([b, b, w]))).toBe(4);
    expect(await products(async () => prepared([few, few, column]))).toBe(0);
    const all = await made(m * k + 1);
    const shifted = all.slice([1, m * k + 1]).reshape([m, k]);
    expect(await products(async () => prepared([shifted, b, w]))).toBe(4);
    const direct = await density.prepare([few, few, column]);
    expect(await products(async () => direct([a, b, w]))).toBe(0);
  });

  it('do not where the vectors are read otherwise, for few components, and for row numbers', async () => {
    const [x, y, b] = await sides(1000);
    const gaussian = x.sqdist(y).neg().exp();
    expect(await products(() => gaussian.mul(x.dot(y)).sum('j'))).toBe(0);
    expect(await products(() => x.sqdist(y).argMin('j'))).toBe(0);
    const [short, other] = await sides(64);
    expect(await products(() => short.sqdist(other).neg().exp().mul(b).sum('j'))).toBe(0);
  });
});
