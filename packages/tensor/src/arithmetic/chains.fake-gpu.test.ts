import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import {
  device,
  startProfile,
  tensor,
  zeros,
  type Device,
  type Pending,
  type Tensor,
} from '../index.js';
import { jitCache } from '../jit.js';

const hasNvrtc = nvrtcFound();

/** The names of what `work` launches. */
async function launched(work: () => Promise<unknown>): Promise<readonly string[]> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).map(({ name }) => name);
}

/** What `work` asks of the compile cache: lookups, and those that compiled. */
async function asked(work: () => Promise<unknown>): Promise<{ lookups: number; compiles: number }> {
  const before = (await jitCache().stats()).counters;
  await work();
  const { memoryHits, storeHits, misses, compiles } = (await jitCache().stats()).counters;
  return {
    lookups: memoryHits + storeHits + misses - before.memoryHits - before.storeHits - before.misses,
    compiles: compiles - before.compiles,
  };
}

/** A GPU that compiles and accepts launches, but computes nothing. */
describe.skipIf(!hasNvrtc)('chains behind the fake driver (skipped only without NVRTC)', () => {
  let gpu: Device;
  let x: Tensor<'float32'>;
  const ELEMENTS = 5000;

  const repeated = (count: number, from: Tensor, step = 1): Pending<Tensor> => {
    let result: Pending<Tensor> = from.add(step);
    for (let k = 1; k < count; k++) result = result.add(step);
    return result;
  };

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 30 });
    gpu = device('cuda:0');
  });

  beforeEach(async () => {
    x = await zeros([ELEMENTS], { device: gpu });
    return () => {
      x.dispose();
    };
  });

  it.each([1, 2, 20, 100, 128])('a chain of %i operations is one launch', async (count) => {
    expect(await launched(() => repeated(count, x).ready())).toHaveLength(1);
  });

  it('a longer one is one launch for each 128 operations', async () => {
    expect(await launched(() => repeated(129, x).ready())).toHaveLength(2);
    expect(await launched(() => repeated(300, x).ready())).toHaveLength(3);
  });

  it('what is used twice counts once, and stands in the text once', async () => {
    const doubled = (count: number): Pending<Tensor> => {
      let result: Pending<Tensor> = x.sin();
      for (let k = 1; k < count; k++) result = result.maximum(result.neg());
      return result;
    };
    expect(await launched(() => doubled(64).ready())).toHaveLength(1);
  });

  it('a chain and its reduction are one kernel, with one that merges parts where there are many elements', async () => {
    const loss = (of: Tensor<'float32'>): Promise<unknown> => of.sub(1).mul(2).square().mean();
    const whole = expect.stringMatching(/^sum over axes, 1 a block: /) as string;
    expect(await launched(() => loss(x))).toEqual([whole]);
    const large = await zeros([1000, 1000], { device: gpu });
    expect(await launched(() => loss(large))).toEqual([whole, 'sum over axes, merge']);
    expect(await launched(() => large.exp().max(0))).toHaveLength(2);
    large.dispose();
  });

  it('a cast is part of both', async () => {
    expect(await launched(() => x.mul(3).cast('int32').ready())).toHaveLength(1);
    expect(await launched(() => x.gt(0).cast('float32').mean())).toHaveLength(1);
  });

  it('nothing is compiled twice, and numbers are no part of a kernel', async () => {
    const step = async (rate: number): Promise<void> => {
      (await x.sub(x.mul(rate)).add(rate / 2)).dispose();
      (await x.mul(rate).exp().sum()).dispose();
      (await x.pow(rate + 10)).dispose();
    };
    await step(0.1);
    for (const rate of [0.1, 0.2, -3.7, 1e10, NaN, Infinity]) {
      expect(await asked(() => step(rate)), String(rate)).toEqual({ lookups: 0, compiles: 0 });
    }
    // other elements, the same kernels
    const y = await tensor(new Float32Array(ELEMENTS), { device: gpu });
    const others = await asked(async () => {
      (await y.sub(y.mul(7)).add(0.5)).dispose();
    });
    expect(others).toEqual({ lookups: 0, compiles: 0 });
    // an exponent up to 8 is a product, and so another kernel
    expect((await asked(() => x.pow(3).ready())).lookups).toBe(1);
    y.dispose();
  });

  it.each([
    ['float32', 100, 2],
    ['float32', 300, 4],
    ['int32', 100, 4],
  ] as const)('of %s, %i operations need at most %i buffers', async (dtype, count, buffers) => {
    const start = await zeros([1_000_000], { device: gpu, dtype });
    const before = gpu.memory().peakBytes;
    const others = gpu.memory().liveBytes - start.bytes;
    const result = await repeated(count, start);
    const { peakBytes, liveBytes } = gpu.memory();
    const inUse = Math.max(liveBytes, peakBytes > before ? peakBytes : 0) - others;
    expect(inUse).toBeGreaterThanOrEqual(2 * start.bytes);
    expect(inUse).toBeLessThanOrEqual(buffers * start.bytes);
    for (const one of [start, result]) one.dispose();
  });

  it('keeps no memory', async () => {
    const kept = await memoryKept(gpu, async () => {
      for (const one of [
        await repeated(20, x),
        await x.sub(1).square().sum(),
        await x.softmax(),
        await x.mul(2).cast('uint8'),
      ]) {
        one.dispose();
      }
      await gpu.synchronize();
    });
    expect(kept).toEqual(NOTHING);
  });

  it('does not mix devices', async () => {
    const there = await zeros([ELEMENTS], { device: 'cuda:1' });
    expect(() => x.add(there)).toThrow(
      `add: ${x.label} and ${there.label} are on different devices. Move one with to('cuda:0').`,
    );
    expect(() => x.add(1).mul(there.add(1))).toThrow(/^mul: .* are on different devices/);
    there.dispose();
  });
});
