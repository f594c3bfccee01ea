import { cuda, type DeviceBuffer } from '@mercer/cuda-runtime';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { nativeStream } from './cuda/index.js';
import { device, empty, full, type Device, type Stream, type Tensor } from './index.js';

const MIB = 2 ** 20;
const TOTAL = 128 * MIB;

const hasNvrtc = nvrtcFound();

/** The fake driver's memory is the host's: what is used again too early has other data. */
describe.skipIf(!hasNvrtc)('memory that streams of a GPU keep (skipped only without NVRTC)', () => {
  let gpu: Device;
  let stream: Stream;
  let other: Stream;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: TOTAL });
    gpu = device('cuda:0');
  });

  beforeEach(() => {
    stream = gpu.createStream();
    other = gpu.createStream();
    return async () => {
      stream.dispose();
      other.dispose();
      // what the driver frees late it frees; what is lost stays
      await expect.poll(() => usedBytes(), { timeout: 10_000 }).toBe(0);
    };
  });

  const bytes = (count: number, on = stream): Tensor<'uint8'> =>
    empty([count], { dtype: 'uint8', device: on.device, stream: on });

  /** What the driver has handed out, once it has all that was freed. */
  async function usedBytes(of = gpu): Promise<number> {
    await of.synchronize();
    const { pool } = cuda.device(of.index);
    for (let last = -1, same = 0; same < 20;) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      same = pool.usedBytes === last ? same + 1 : 0;
      last = pool.usedBytes;
    }
    return pool.usedBytes;
  }

  function disposed(x: Tensor): number {
    const { address } = x.storage;
    x.dispose();
    return address;
  }

  it('is used again on the same stream at once', () => {
    const address = disposed(bytes(1000));
    using again = bytes(990);
    expect(again.storage.address).toBe(address);
    using more = bytes(1000);
    expect(more.storage.address).not.toBe(address);
  });

  it('is not used on another stream', () => {
    const address = disposed(bytes(1000));
    using elsewhere = bytes(1000, other);
    expect(elsewhere.storage.address).not.toBe(address);
  });

  it('goes back to the driver where several streams have used it', async () => {
    const x = await full([1000], 1, { dtype: 'uint8', device: gpu, stream });
    const copy = await x.clone({ stream: other });
    x.dispose();
    const held = await usedBytes();
    copy.dispose();
    // the copy is kept, what it was made of is not
    expect(held).toBe(1024);
    expect(await usedBytes()).toBe(1024);
  });

  it('goes back to the driver where another stream has used it', async () => {
    const x = bytes(1000);
    await x.fill(1, { stream: other });
    x.dispose();
    expect(await usedBytes()).toBe(0);
  });

  it('is the next one only behind a copy to the host that is under way', async () => {
    const count = 3 * MIB;
    const x = await full([count], 5, { dtype: 'uint8', device: gpu, stream });
    const read = x.toTypedArray({ stream });
    x.dispose();
    using next = await full([count], 9, { dtype: 'uint8', device: gpu, stream });
    expect(new Set(await read)).toEqual(new Set([5]));
    expect(new Set(await next.toTypedArray({ stream }))).toEqual(new Set([9]));
  });

  it('is bounded', async () => {
    const all = Array.from({ length: 20 }, () => bytes(4 * MIB));
    for (const x of all) x.dispose();
    expect(await usedBytes()).toBe(64 * MIB);
    disposed(bytes(5 * MIB));
    expect(await usedBytes()).toBe(64 * MIB);
  });

  it('is given back where memory is short', async () => {
    const all = Array.from({ length: 16 }, () => bytes(4 * MIB));
    for (const x of all) x.dispose();
    expect(await usedBytes()).toBe(64 * MIB);
    using large = bytes(100 * MIB);
    expect(large.bytes).toBe(100 * MIB);
    expect(await usedBytes()).toBe(100 * MIB);
  });

  it('is given back with its stream', async () => {
    bytes(1000).dispose();
    expect(await usedBytes()).toBe(1024);
    stream.dispose();
    expect(await usedBytes()).toBe(0);
    // one that outlives its stream is not kept
    const late = bytes(1000, other);
    other.dispose();
    late.dispose();
    expect(await usedBytes()).toBe(0);
  });

  it('is nothing that a stream takes while it captures', async () => {
    const address = disposed(bytes(1000));
    const native = nativeStream(stream);
    native.beginCapture();
    const recorded = bytes(1000);
    expect(recorded.storage.address).not.toBe(address);
    await recorded.fill(0, { stream });
    native.endCapture().dispose();
    recorded.dispose();
    using first = bytes(1000);
    expect(first.storage.address).toBe(address);
  });

  it('is not what a graph holds', async () => {
    const native = nativeStream(stream);
    const x = bytes(1000);
    native.beginCapture();
    await x.fill(0, { stream });
    native.keepForCapture(x.storage.handle as DeviceBuffer);
    const graph = native.endCapture();
    const address = disposed(x);
    using next = bytes(1000);
    expect(next.storage.address).not.toBe(address);
    graph.dispose();
  });

  it('is none with MERCER_KEEP_MEMORY=0', async () => {
    process.env['MERCER_KEEP_MEMORY'] = '0';
    const plain = device('cuda:1');
    // reads whether it keeps memory
    plain.memory();
    delete process.env['MERCER_KEEP_MEMORY'];
    const on = plain.createStream();
    bytes(1000, on).dispose();
    expect(await usedBytes(plain)).toBe(0);
    on.dispose();
  });
});
