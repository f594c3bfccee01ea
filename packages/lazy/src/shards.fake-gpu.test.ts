import { device, tensor, zeros, type Device, type RowReader, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { lazyI, lazyJ } from './index.js';

const hasNvrtc = nvrtcFound();

/** GPUs that accept launches and compute nothing: who computes what, what travels where, and what is kept. */
describe.skipIf(!hasNvrtc)('shards behind the fake driver (skipped only without NVRTC)', () => {
  let [first, second]: Device[] = [];

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 3, TOTAL_BYTES: 2 ** 28 });
    [first, second] = [device('cuda:0'), device('cuda:1')];
  });

  const host = (rows: number): { data: Float32Array; shape: number[] } => ({
    data: new Float32Array(2 * rows),
    shape: [rows, 2],
  });

  it('compute on both devices, with results on the first, and keep no memory', async () => {
    const devices = [first!, second!];
    const work = async (): Promise<void> => {
      const x = await zeros([5000, 2], { device: second });
      const a = lazyI({ position: 0, dim: 2 });
      const b = lazyJ({ position: 1, dim: 2 });
      const y = await zeros([3000, 2], { device: first });
      for (const of of [
        a.sqdist(b).reduction('Sum', 'j'),
        a.sqdist(b).reduction('LogSumExp', 'i'),
        a.sub(b).reduction('KMinArgKMin', 'j', { k: 3 }),
      ]) {
        for (const options of [{ devices }, { devices, maxBytes: 2 ** 20 }]) {
          const found = await of.call([x, y], options);
          const one = 'values' in found ? found.values : found;
          expect(one.device).toBe(first);
          for (const result of Object.values('values' in found ? found : { one })) {
            (result as Tensor).dispose();
          }
        }
      }
      x.dispose();
      y.dispose();
      await second!.synchronize();
    };
    expect(await memoryKept(first!, work)).toEqual(NOTHING);
    expect(await memoryKept(second!, work)).toEqual(NOTHING);
  });

  it('read rows of the reduced side once for each device that has room for them', async () => {
    const read: string[] = [];
    const rows: RowReader = {
      shape: [4000, 2],
      dtype: 'float32',
      readRows: (start, count) => {
        read.push(`${start} ${count}`);
        return Promise.resolve({ data: new Float32Array(2 * count), shape: [count, 2] });
      },
    };
    const of = lazyI(host(8192)).sqdist(lazyJ(rows)).reduction('Sum', 'j');
    const found = (await of.call([], { devices: [first!, second!] })) as Tensor;
    expect(read).toEqual(['0 4000', '0 4000']);
    found.dispose();
  });

  it('refuse inputs on a device that is not named', async () => {
    const x = await zeros([4, 2], { device: 'cuda:2' });
    const y = await tensor(new Float32Array(8), { shape: [4, 2], device: 'cuda:2' });
    const of = lazyI(x).sqdist(lazyJ(y));
    await expect(of.sum('j', { devices: [first!, second!] })).rejects.toThrow(
      /on cuda:2, and it is computed on cuda:0, cuda:1.*name cuda:2 among the devices/,
    );
    x.dispose();
    y.dispose();
  });
});
