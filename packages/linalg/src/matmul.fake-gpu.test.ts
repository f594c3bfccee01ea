import { CublasError } from '@mercer/cuda-runtime';
import { device, startProfile, tensor, zeros, type Device, type Storage } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { splitOnTheHost } from './host-split.test-support.js';
import { random } from './matrices.test-support.js';
import { withBytesLeft } from './low-memory.test-support.js';
import { matmul } from './matmul.js';
import { matmulSuite } from './matmul-suite.test-support.js';

const hasNvrtc = nvrtcFound();

let gpu: Device;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
  gpu = device('cuda:0');
  splitOnTheHost(gpu);
});

/** The fake library really multiplies; of the kernels only those of the split run (on the host), so that nothing that must be copied first is drawn. */
describe.skipIf(!hasNvrtc)('skipped only without NVRTC', () => {
  matmulSuite('behind the fake driver', () => gpu, { scatters: false });
  matmulSuite('behind the fake driver', () => gpu, { scatters: false, precision: 'tf32x3' });
});

/** The fields of the products that the library was asked for: transposes and length of the batch. */
async function products(work: () => Promise<unknown>): Promise<string[]> {
  const lines = await callsOf(async () => {
    await work();
    await gpu.synchronize();
  });
  const asked = lines.filter((line) => line.startsWith('matmul '));
  return asked.map((line) => line.split(' ').slice(1, 4).join(' '));
}

/** What the work allocated, in order, with whether it was given back. */
async function allocatedBy(work: () => Promise<unknown>): Promise<string[]> {
  const allocator: { readonly take: () => Storage } = gpu as never;
  const spy = vi.spyOn(allocator, 'take');
  try {
    await work();
    return spy.mock.results.map(({ value }) => {
      const { purpose, disposed } = value as Storage;
      return `${purpose}, ${disposed ? 'disposed' : 'kept'}`;
    });
  } finally {
    spy.mockRestore();
  }
}

describe.skipIf(!hasNvrtc)('a product on a GPU (skipped only without NVRTC)', () => {
  const made = (...shape: number[]) => zeros(shape, { device: gpu, dtype: 'float32' });

  it('uses views where they lie: nothing is allocated but the result and the workspace', async () => {
    const a = await made(6, 4);
    const whole = await made(9, 7);
    const b = whole.slice([0, 6], [2, 5]);
    const workspace = 'workspace, disposed';
    // Row order is the transposed product in column order, with b first.
    expect(await products(() => matmul(a.transpose(), b))).toEqual(['0 1 1']);
    expect(await products(() => matmul(a, a, { transposeB: true }))).toEqual(['1 0 1']);
    const results: unknown[] = [];
    const keep = async (result: Promise<unknown>) => results.push(await result);
    expect(await allocatedBy(() => keep(matmul(a.transpose(), b)))).toEqual([
      'float32 [4, 3], kept',
      workspace,
    ]);
    const out = (await made(3, 4)).transpose();
    expect(await products(() => matmul(a, b, { transposeA: true, out }))).toEqual(['0 1 1']);
    expect(await allocatedBy(() => matmul(a, b, { transposeA: true, out }))).toEqual([workspace]);
  });

  it('of a batch is one call where strides allow, and a loop elsewhere', async () => {
    const a = await made(5, 3, 2, 4);
    const b = await made(4, 6);
    expect(await products(() => matmul(a, b))).toEqual(['0 0 1']);
    expect(await products(() => matmul(a, a, { transposeB: true }))).toEqual(['1 0 15']);
    const turned = a.permute([1, 0, 2, 3]);
    const others = await made(3, 5, 4, 2);
    expect(await products(() => matmul(turned, others))).toEqual(['0 0 5', '0 0 5', '0 0 5']);
  });

  it('copies what has no contiguous axis, once for entries that repeat', async () => {
    const a = await made(6, 8);
    const strided = a.slice(null, [0, 8, 2]).broadcastTo([5, 6, 4]);
    const profile = startProfile();
    expect(await products(() => matmul(strided, strided, { transposeB: true }))).toHaveLength(1);
    const [first, second, product, ...more] = await profile.stop();
    expect([first, second].map((copy) => copy?.cost?.bytes)).toEqual([2 * 4 * 24, 2 * 4 * 24]);
    expect(product?.name).toBe('matmul (library)');
    expect(more).toEqual([]);
  });

  it('can be captured in a graph', async () => {
    const a = await tensor([1, 2, 3, 4], { shape: [2, 2], device: gpu });
    const out = await made(2, 2);
    using stream = gpu.createStream();
    await matmul(a, a, { out, stream });
    await out.fill(0, { stream });
    await gpu.synchronize();
    const native = nativeStream(stream);
    native.beginCapture();
    await matmul(a, a, { out, beta: 1, stream });
    const exec = native.endCapture().instantiate();
    expect(await out.toNested()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    exec.launch(native);
    exec.launch(native);
    await native.whenDone();
    expect(await out.toNested()).toEqual([
      [14, 20],
      [30, 44],
    ]);
    exec.dispose();
  });

  it('can be captured, also where operands are copied first', async () => {
    const a = await made(4, 4);
    const out = await made(2, 2);
    using stream = gpu.createStream();
    await gpu.synchronize();
    const native = nativeStream(stream);
    native.beginCapture();
    const part = a.slice([0, 4, 2], [0, 4, 2]);
    expect(await matmul(part, part, { out, stream })).toBe(out);
    const exec = native.endCapture().instantiate();
    exec.launch(native);
    await native.whenDone();
    exec.dispose();
  });

  it('has a workspace that goes by the size of its results and the length of its sums', async () => {
    const allocator: { readonly take: () => Storage } = gpu as never;
    const spy = vi.spyOn(allocator, 'take');
    const mebibytesFor = async (m: number, n: number, batch: number, k = 1): Promise<number> => {
      const [a, b] = [await made(batch, m, k), await made(k, n)];
      spy.mockClear();
      (await matmul(a, b)).dispose();
      const taken = spy.mock.results.map(({ value }) => value as Storage);
      const workspace = taken.find(({ purpose }) => purpose === 'workspace');
      return (workspace?.bytes ?? NaN) / 2 ** 20;
    };
    try {
      const found = [
        await mebibytesFor(4, 4, 1),
        await mebibytesFor(256, 256, 1),
        await mebibytesFor(256, 256, 2),
        await mebibytesFor(600, 600, 1),
        await mebibytesFor(4, 4, 1, 512),
        await mebibytesFor(4, 4, 1, 513),
      ];
      expect(found).toEqual([4, 8, 16, 32, 4, 32]);
    } finally {
      spy.mockRestore();
    }
  });

  it('does without a workspace where there is no room for one', async () => {
    const a = await tensor([1, 2, 3, 4], { shape: [2, 2], device: gpu });
    try {
      gpu.memoryLimitBytes = gpu.memory().liveBytes + 2 ** 20;
      expect(await (await matmul(a, a)).toNested()).toEqual([
        [7, 10],
        [15, 22],
      ]);
    } finally {
      gpu.memoryLimitBytes = undefined;
    }
  });

  it('fails with nothing left behind', async () => {
    const a = await made(4, 13);
    const failing = async () => {
      await expect(matmul(a, a, { transposeB: true })).rejects.toThrow(CublasError);
    };
    expect(await allocatedBy(failing)).toEqual(['float32 [4, 4], disposed', 'workspace, disposed']);
  });
});

describe.skipIf(!hasNvrtc)('products of split factors (skipped only without NVRTC)', () => {
  const made = async (shape: readonly number[], seed: number, scale = 1) => {
    const next = random(seed);
    const size = shape.reduce((product, one) => product * one, 1);
    const values = Float32Array.from({ length: size }, () => scale * next());
    return tensor(values, { shape, device: gpu });
  };

  it('are two products of small parts and one for each chunk of k', async () => {
    const [a, b] = [await made([4, 700], 1), await made([700, 5], 2)];
    const asked = await products(() => matmul(a, b, { precision: 'tf32x3' }));
    expect(asked).toHaveLength(2 + 3);
    expect(await products(() => matmul(a, b, { precision: 'tf32' }))).toHaveLength(1);
    using out = await made([4, 5], 3);
    const parts = ['[2800]', '[2800]', '[5600]', '[5600]'].map((one) => `float32 ${one}, disposed`);
    expect(await allocatedBy(() => matmul(a, b, { precision: 'tf32x3', out }))).toEqual([
      'workspace, disposed',
      ...parts,
    ]);
  });

  it('are right where the parts do not fit at once, and where k is longer than any chunk', async () => {
    const [a, b] = [await made([9, 1100], 3), await made([8, 1100], 4)];
    const whole = await matmul(a, b, { transposeB: true, precision: 'tf32x3' });
    const asked = async () => {
      using cut = await matmul(a, b, { transposeB: true, precision: 'tf32x3' });
      const [x, y] = [await whole.toTypedArray(), await cut.toTypedArray()];
      x.forEach((value, i) => {
        expect(Math.abs(value - (y[i] ?? NaN))).toBeLessThan(1100 * 2 ** -22);
      });
    };
    // The parts of 512 steps do not fit a quarter of it: 256 at a time, with both products of small parts for each.
    await withBytesLeft(gpu, 2 ** 18, async () => {
      expect(await products(asked)).toHaveLength(5 * 3);
    });
  });

  it('carry what is not finite as float32 does', async () => {
    const row = (...values: number[]) => tensor(values, { shape: [1, values.length], device: gpu });
    const one = async (x: readonly number[], y: readonly number[]) => {
      using product = await matmul(await row(...x), await row(...y), {
        transposeB: true,
        precision: 'tf32x3',
      });
      return (await product.toTypedArray())[0];
    };
    // 1 and 0.5 have no small part, 0.1 has one of the other sign.
    for (const y of [1, 0.5, 0.1, 1e-30, 3e38]) {
      expect(await one([Infinity, 1], [y, 1])).toBe(Infinity);
      expect(await one([-Infinity, 1], [y, 1])).toBe(-Infinity);
      expect(await one([y, 1], [-Infinity, 1])).toBe(-Infinity);
      expect(await one([NaN, 1], [y, 1])).toBeNaN();
    }
    expect(await one([Infinity, Infinity], [Infinity, 1])).toBe(Infinity);
    expect(await one([Infinity], [0])).toBeNaN();
    expect(await one([Infinity, Infinity], [1, -1])).toBeNaN();
  });
});
