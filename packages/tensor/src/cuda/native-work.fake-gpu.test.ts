import { beforeAll, describe, expect, it } from 'vitest';
import { fake, useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { tensor, zeros } from '../create.js';
import type { Device } from '../device.js';
import { device } from '../devices.js';
import type { Tensor } from '../tensor.js';
import { incrementKernel } from '../testing/increment-kernel.test-support.js';
import {
  enqueueNative,
  hostRegionOf,
  nativeStream,
  regionOf,
  runNative,
  type NativeStreams,
} from './index.js';

const hasNvrtc = nvrtcFound();

let gpu: Device;
beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1 });
  gpu = device('cuda:0');
});

/** Sets element i by stream i. */
function setEach(x: Tensor, { beside }: NativeStreams): void {
  const { buffer, byteOffset = 0 } = regionOf(x);
  beside.forEach((stream, i) => {
    stream.memset(buffer, byteOffset + 4 * i, i + 1, 4, 4);
  });
}

describe.skipIf(!hasNvrtc)('work of a CUDA library (skipped only without NVRTC)', () => {
  it('is shared by streams between what came before and what comes after', async () => {
    using x = await zeros([3], { device: gpu, dtype: 'int32' });
    const beside = [0, 1, 2].map(() => gpu.createStream());
    await x.fill(7);
    enqueueNative(gpu.defaultStream, { what: 'test', writes: [x], beside }, (streams) => {
      setEach(x, streams);
    });
    expect([...(await x.toTypedArray())]).toEqual([1, 2, 3]);
    for (const stream of beside) stream.dispose();
  });

  it('is there when it has ended, also that of streams beside that are late', async () => {
    using x = await zeros([1], { device: gpu, dtype: 'int32' });
    using other = gpu.createStream();
    const kernel = await gpu.load(incrementKernel('cuda'));
    const byte = await zeros([1], { device: gpu, dtype: 'uint8', stream: other });
    await gpu.synchronize();
    fake('KERNEL_US', 25_000);
    kernel.launch(other, { pointers: [byte], scalars: { n: 1 } });
    fake('KERNEL_US', undefined);
    enqueueNative(gpu.defaultStream, { what: 'test', writes: [x], beside: [other] }, (streams) => {
      setEach(x, streams);
    });
    expect([...(await x.toTypedArray())]).toEqual([1]);
    byte.dispose();
  });

  it('of another stream is waited for by readers', async () => {
    using x = await zeros([1], { device: gpu, dtype: 'int32' });
    using stream = gpu.createStream();
    await runNative(stream, { what: 'test', writes: [x] }, async ({ stream: native }) => {
      const { buffer, byteOffset = 0 } = regionOf(x);
      native.memset(buffer, byteOffset, 5, 4, 4);
    });
    expect([...(await x.toTypedArray())]).toEqual([5]);
  });

  it('can be captured, also much of it', async () => {
    using x = await zeros([1], { device: gpu, dtype: 'int32' });
    using stream = gpu.createStream();
    await x.ready();
    const native = nativeStream(stream);
    native.beginCapture();
    for (let i = 0; i < 100; i++) {
      enqueueNative(stream, { what: 'test' }, (streams) => {
        setEach(x, { ...streams, beside: [streams.stream] });
      });
    }
    const exec = native.endCapture().instantiate();
    expect([...(await x.toTypedArray())]).toEqual([0]);
    exec.launch(native);
    await native.whenDone();
    expect([...(await x.toTypedArray())]).toEqual([1]);
    exec.dispose();
  });

  it('is joined also when enqueuing fails', async () => {
    using x = await zeros([1], { device: gpu, dtype: 'int32' });
    const beside = [gpu.createStream()];
    expect(() => {
      enqueueNative(gpu.defaultStream, { what: 'test', writes: [x], beside }, (streams) => {
        setEach(x, streams);
        throw new RangeError('later');
      });
    }).toThrow(RangeError);
    expect([...(await x.toTypedArray())]).toEqual([1]);
  });
});

describe.skipIf(!hasNvrtc)('memory of the CPU (skipped only without NVRTC)', () => {
  it('is reached by its bytes, from the first element of a view on', async () => {
    using x = await tensor([1, 2, 3, 4], { device: 'cpu', dtype: 'float64' });
    using part = x.slice([2, 4]);
    await x.ready();
    const { arrayBuffer, byteOffset } = hostRegionOf(part);
    expect([...new Float64Array(arrayBuffer, byteOffset, 2)]).toEqual([3, 4]);
    new Float64Array(arrayBuffer, byteOffset, 1)[0] = 7;
    expect(await x.toNested()).toEqual([1, 2, 7, 4]);
    expect(hostRegionOf(x.storage).byteOffset).toBe(byteOffset - 16);
  });
});

describe.skipIf(!hasNvrtc)('misuse (skipped only without NVRTC)', () => {
  it('of a stream of the CPU is refused', () => {
    const stream = device('cpu').defaultStream;
    expect(() => nativeStream(stream)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
    expect(() => {
      enqueueNative(stream, { what: 'solve' }, () => undefined);
    }).toThrow(/solve: cpu default stream is a stream of the CPU/);
  });

  it('of memory of the CPU, or given back, is refused', async () => {
    using x = await zeros([1], { device: 'cpu' });
    expect(() => regionOf(x)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
    const y = await zeros([1], { device: gpu });
    expect(() => hostRegionOf(y)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
    y.dispose();
    expect(() => hostRegionOf(y)).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
    expect(() => regionOf(y)).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
  });
});
