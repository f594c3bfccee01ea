import { device, planOf, zeros, type Device, type Tensor } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cdist, kernels, runKernel } from './index.js';

const hasNvrtc = nvrtcFound();

/** A GPU that accepts launches: which distances go through products, and what they launch. */
describe.skipIf(!hasNvrtc)('products behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 31 });
    await useFakeSolvers();
    gpu = device('cuda:0');
    // the fake library multiplies: few pairs are worth while on a small GPU
    vi.spyOn(gpu, 'limits', 'get').mockReturnValue({ ...gpu.limits, multiprocessors: 1 } as never);
  });

  afterEach(() => {
    gpu.memoryLimitBytes = undefined;
    vi.unstubAllEnvs();
  });

  const [m, n, k] = [256, 300, 520];
  const made = (...shape: number[]) => zeros(shape, { dtype: 'float32', device: gpu });
  const operands = async (more = 0): Promise<[Tensor<'float32'>, Tensor<'float32'>]> => [
    await made(m + more, k),
    await made(n, k),
  ];
  /** The names of the kernels of a call. */
  const launches = async (work: (debug: (line: string) => void) => Promise<Tensor>) => {
    const lines: string[] = [];
    (await work((line) => lines.push(line))).dispose();
    return lines.filter((line) => line.startsWith('launch'));
  };

  it('launch the centre, both splits and a pass, and multiply chunk by chunk', async () => {
    const [a, b] = await operands();
    const kept = await memoryKept(gpu, async () => {
      const lines = await launches((debug) => cdist(a, b, { debug }));
      expect(lines.map((line) => line.replace(/,.*| of .*/, ''))).toMatchInlineSnapshot(`
        [
          "launch products centre on cuda:0 default stream: grid 17x1x1",
          "launch products parts a on cuda:0 default stream: grid 32x1x1",
          "launch products parts b on cuda:0 default stream: grid 38x1x1",
          "launch pairwise sum",
        ]
      `);
      const calls = await callsOf(async () => {
        const d = await cdist(a, b);
        expect(planOf(d)).toMatchObject({
          strategy: 'products',
          products: { chunk: 176, chunks: 3 },
        });
        d.dispose();
        await gpu.synchronize();
      });
      expect(calls.filter((call) => call.startsWith('matmul '))).toHaveLength(3);
      // a call like one before
      const again = await callsOf(async () => {
        (await cdist(a, b)).dispose();
        await gpu.synchronize();
      });
      expect(again.filter((call) => call.startsWith('matmul '))).toHaveLength(3);
    });
    expect(kept).toEqual(NOTHING);
  });

  it('serve kernels of squared distances, with parameters, a diagonal and out', async () => {
    const [a, b] = await operands();
    const out = await made(m, n);
    await runKernel(kernels.gaussian, a, b, { bandwidth: 2, regularization: 1, out });
    expect(planOf(out)).toMatchObject({ strategy: 'products', diagonal: 'set' });
    const bandwidth = await made(1);
    const d = await runKernel(kernels.gaussian, a, b, { bandwidth });
    expect(planOf(d)).toMatchObject({ strategy: 'products' });
  });

  it('are not taken where MERCER_PRODUCTS is off, and other values are refused', async () => {
    const [a, b] = await operands(1);
    vi.stubEnv('MERCER_PRODUCTS', 'off');
    expect(planOf(await cdist(a, b))).toMatchObject({ strategy: 'tile' });
    vi.stubEnv('MERCER_PRODUCTS', 'never');
    const [c] = await operands(2);
    await expect((async () => cdist(c, b))()).rejects.toThrow(
      /MERCER_PRODUCTS is 'never'. Set it to off or auto/,
    );
  });

  it('are not taken where their parts need more than a quarter of the memory that is left', async () => {
    const [a, b] = await operands(3);
    gpu.memoryLimitBytes = gpu.memory().liveBytes + 4 * 4 * (3 * 528 + 1) * (m + 3 + n) - 1;
    expect(planOf(await cdist(a, b))).toMatchObject({ strategy: 'tile' });
    gpu.memoryLimitBytes += 2 ** 24;
    const [c] = await operands(4);
    expect(planOf(await cdist(c, b))).toMatchObject({ strategy: 'products' });
  });

  it('are taken by prepared calls for the numbers of rows that they pay for', async () => {
    const [a, b] = await operands();
    const prepared = await cdist.prepare(a, b);
    expect(prepared.plan).toMatchObject({ strategy: 'products' });
    const products = async (work: () => Tensor): Promise<number> => {
      const calls = await callsOf(async () => {
        work().dispose();
        await gpu.synchronize();
      });
      return calls.filter((call) => call.startsWith('matmul ')).length;
    };
    const [c] = await operands(80);
    const few = await made(2, k);
    const all = await made(m * k + 1);
    const shifted = all.slice([1, m * k + 1]).reshape([m, k]);
    const kept = await memoryKept(gpu, async () => {
      expect(await products(() => prepared(a, b))).toBe(3);
      expect(await products(() => prepared(c, a))).toBe(3);
      // the direct kernel, for few pairs
      expect(await products(() => prepared(few, few))).toBe(0);
      // rows that are not aligned
      expect(await products(() => prepared(shifted, b))).toBe(3);
    });
    expect(kept).toEqual(NOTHING);
    // one that was prepared for few pairs has no kernels for products
    const direct = await cdist.prepare(few, few);
    expect(direct.plan).not.toMatchObject({ strategy: 'products' });
    expect(await products(() => direct(a, b))).toBe(0);
  });

  it('are not taken by symmetric kernels, other norms and other layouts', async () => {
    const [a, b] = await operands();
    const of = async (work: Promise<Tensor>) => planOf(await work);
    expect(await of(runKernel(kernels.gaussian, a, { bandwidth: 1 }))).toMatchObject({
      strategy: 'tile',
    });
    expect(await of(cdist(a, b, { p: 1 }))).toMatchObject({ strategy: 'tile' });
    const out = (await made(n, m)).transpose();
    expect(await of(cdist(a, b, { out }))).toMatchObject({ strategy: 'tile' });
  });
});
