import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import {
  arange,
  concat,
  device,
  diag,
  eye,
  linspace,
  oneHot,
  pad,
  random,
  stack,
  tile,
  tril,
  triu,
  zeros,
  type Device,
  type Pending,
  type Tensor,
} from '../index.js';
import { launches } from '../testing/what-happens.test-support.js';

const hasNvrtc = nvrtcFound();

/** A GPU that compiles and accepts launches, but computes nothing. */
describe.skipIf(!hasNvrtc)('creators behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;
  let x: Tensor<'float32'>;
  let whole: Tensor<'int32'>;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 30 });
    gpu = device('cuda:0');
    x = await zeros([30, 20], { device: gpu });
    whole = await zeros([9], { device: gpu, dtype: 'int32' });
  });

  /** What is made on the GPU, with the kernels that it takes. */
  const CALLS: readonly (readonly [string, number, () => Pending<Tensor>])[] = [
    ['arange', 0, () => arange(10, { device: gpu })],
    ['linspace', 0, () => linspace(0, 1, 10, { device: gpu, dtype: 'float16' })],
    ['eye: a fill of the diagonal', 1, () => eye(10, { device: gpu })],
    ['diag of a vector: a copy to the diagonal', 1, () => diag(x.slice(0))],
    ['diag of a matrix', 0, () => diag(x)],
    ['tril: one kernel', 1, () => tril(x)],
    ['triu of a chain: the same one', 1, () => triu(x.mul(2).add(1)).mul(3)],
    ['oneHot', 1, () => oneHot(whole, 5)],
    ['concat: a copy for each part', 3, () => concat([x, x, x], 1)],
    ['stack', 2, () => stack([x, x])],
    ['tile', 1, () => tile(x, [2, 3])],
    ['pad: a copy and four fills', 5, () => pad(x, 1)],
    ['normal: drawn on the CPU, and copied', 1, () => random.normal([5], { key, device: gpu })],
    ['permutation', 0, () => random.permutation(5, { key, device: gpu })],
  ];
  const key = random.key(1);

  it.each(CALLS)('%s', async (_, count, make) => {
    const made: Tensor[] = [];
    expect(
      await launches(async () => {
        const one = await make();
        made.push(one);
        await one.ready();
      }),
    ).toBe(count);
    for (const one of made) {
      expect(one.device).toBe(gpu);
      one.dispose();
    }
  });

  it('keep no memory but their results, of the host neither', async () => {
    for (const home of [gpu, device('cpu')]) {
      const kept = await memoryKept(home, async () => {
        for (const [name, , make] of CALLS) {
          // a forgotten operand of its own
          if (!/chain|vector/.test(name)) (await make()).dispose();
        }
      });
      expect(kept).toEqual(NOTHING);
    }
  });

  it('refuse tensors of two devices', async () => {
    const there = await zeros([30, 20], { device: device('cuda:1') });
    await expect(concat([x, there])).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
    await expect(stack([there, await zeros([30, 20], { device: 'cpu' })])).rejects.toMatchObject({
      code: 'DEVICE_MISMATCH',
    });
    await expect(pad(x, 1, { out: there })).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
  });
});
