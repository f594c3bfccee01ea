import { CublasError } from '@mercer/cuda-runtime';
import { device, startProfile, tensor, zeros, type Device } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { beforeAll, describe, expect, it } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { useNvrtc } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { matmul } from './matmul.js';
import { matmulSuite } from './matmul-suite.test-support.js';

let gpu: Device;
beforeAll(async () => {
  useNvrtc();
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
  gpu = device('cuda:0');
});

/** The fake library really multiplies; kernels do not run, so that nothing that must be copied first is drawn. */
matmulSuite('behind the fake driver', () => gpu, false);

/** The fields of the products that the library was asked for: transposes and length of the batch. */
async function products(work: () => Promise<unknown>): Promise<string[]> {
  const lines = await callsOf(async () => {
    await work();
    await gpu.synchronize();
  });
  const asked = lines.filter((line) => line.startsWith('matmul '));
  return asked.map((line) => line.split(' ').slice(1, 4).join(' '));
}

describe('a product on a GPU', () => {
  const made = (...shape: number[]) => zeros(shape, { device: gpu, dtype: 'float32' });

  it('uses views where they lie: nothing is allocated but the result and the workspace', async () => {
    const a = await made(6, 4);
    const b = await made(9, 7);
    const before = gpu.memory();
    // Row order is the transposed product in column order, with b first.
    expect(await products(() => matmul(a.transpose(), b.slice([0, 6], [2, 5])))).toEqual(['0 1 1']);
    expect(await products(() => matmul(a, a, { transposeB: true }))).toEqual(['1 0 1']);
    const out = (await made(3, 4)).transpose();
    expect(
      await products(() => matmul(a, b.slice([0, 6], [2, 5]), { transposeA: true, out })),
    ).toEqual(['0 1 1']);
    const after = gpu.memory();
    expect(after.liveStorages - before.liveStorages).toBe(3);
    expect(after.liveBytes - before.liveBytes).toBe(4 * (4 * 3 + 6 * 6 + 3 * 4));
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
    const copies = await profile.stop();
    expect(copies.map(({ cost }) => cost?.bytes)).toEqual([2 * 4 * 24, 2 * 4 * 24]);
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

  it('says what a capture cannot have', async () => {
    const a = await made(4, 4);
    const out = await made(2, 2);
    using stream = gpu.createStream();
    await gpu.synchronize();
    const native = nativeStream(stream);
    native.beginCapture();
    const part = a.slice([0, 4, 2], [0, 4, 2]);
    await expect(matmul(part, part, { out, stream })).rejects.toThrow(/while the stream captures/);
    native.endCapture();
  });

  it('fails with nothing left behind', async () => {
    const a = await made(4, 13);
    const before = gpu.memory();
    await expect(matmul(a, a, { transposeB: true })).rejects.toThrow(CublasError);
    expect(gpu.memory().liveStorages).toBe(before.liveStorages);
  });
});
