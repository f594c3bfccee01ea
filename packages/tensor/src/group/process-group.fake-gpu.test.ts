import { beforeAll, describe, expect, it } from 'vitest';
import { fake, useFakeDriver, useFakeNccl } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { tensor, zeros } from '../create.js';
import type { Device } from '../device.js';
import { device } from '../devices.js';
import { createGroupId } from './group-id.js';
import { joinGroup } from './join-group.js';
import type { Tensor } from '../tensor.js';
import type { ProcessGroup } from './process-group.js';

const hasNvrtc = nvrtcFound();

let gpus: Device[] = [];

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 2 });
  await useFakeNccl();
  gpus = [device('cuda:0'), device('cuda:1')];
});

/** The ranks of a group, which are those of this process here. */
const joined = async (timeoutMs = 10_000): Promise<readonly ProcessGroup[]> => {
  const id = createGroupId();
  return Promise.all(
    gpus.map((gpu, rank) => joinGroup({ id, size: 2, rank, device: gpu, timeoutMs })),
  );
};

const both = <T>(
  group: readonly ProcessGroup[],
  work: (one: ProcessGroup) => Promise<T>,
): Promise<T[]> => Promise.all(group.map(work));

describe.skipIf(!hasNvrtc)('a group of processes (skipped only without NVRTC)', () => {
  it('reduces and gathers tensors, pending ones and views too, in the order of the calls', async () => {
    const group = await joined();
    const found = await both(group, async (one) => {
      const { device: gpu, rank } = one;
      const x = await tensor([rank + 1, 10 * (rank + 1)], { device: gpu, dtype: 'float64' });
      const rows = await tensor(
        [
          [0, rank],
          [5, 6],
        ],
        { device: gpu, dtype: 'int32' },
      );
      const pending = tensor([rank === 0], { device: gpu, dtype: 'bool' });
      const results = await Promise.all([
        one.allReduce(x),
        one.allReduce(x, { reduction: 'maximum' }),
        one.allReduce(x, { reduction: 'mean' }),
        one.allGather(rows.slice([0, 1])),
        one.allGather(pending),
      ]);
      // it took what x was then
      await x.fill(0);
      return Promise.all(results.map((each) => (each as Tensor).toNested()));
    });
    for (const one of found) {
      expect(one).toEqual([
        [3, 30],
        [2, 20],
        [1.5, 15],
        [[[0, 0]], [[0, 1]]],
        [[true], [false]],
      ]);
    }
    await both(group, (one) => one.close());
  });

  it('keeps no memory, also where a call fails', async () => {
    const work = async (): Promise<void> => {
      const group = await joined();
      await both(group, async (one) => {
        using x = await zeros([3 + one.rank], { device: one.device });
        await expect(one.allReduce(x)).rejects.toMatchObject({ code: 'GROUP_MISMATCH' });
        using same = await zeros([7], { device: one.device });
        using sum = await one.allReduce(same);
        using all = await one.allGather(sum);
        expect(all.shape).toEqual([2, 7]);
      });
      await both(group, (one) => one.close());
    };
    expect(await memoryKept(gpus[0]!, work)).toEqual(NOTHING);
    expect(await memoryKept(gpus[1]!, work)).toEqual(NOTHING);
  });

  it('ends where a process does not come, and says so from then on', async () => {
    const group = await joined(60);
    const [first, second] = group;
    using x = await zeros([3], { device: first!.device });
    const late = first!.allReduce(x);
    await expect(late).rejects.toMatchObject({ code: 'NCCL_TIMEOUT' });
    await expect(first!.allGather(x)).rejects.toMatchObject({ code: 'GROUP_ENDED' });
    expect(await x.toNested()).toEqual([0, 0, 0]);
    second!.abort();
    await both(group, (one) => one.close());
    await expect(first!.allGather(x)).rejects.toMatchObject({ code: 'DISPOSED' });
    await first!.close();
    first!.abort();
  });

  it('refuses what it is not made of', async () => {
    const id = createGroupId();
    const refused = async (options: object, what: RegExp): Promise<void> => {
      await expect(joinGroup({ id, size: 2, rank: 0, ...options })).rejects.toThrow(what);
    };
    await refused({ id: 'abc' }, /id is "abc", which createGroupId\(\) has not made/);
    await refused({ id: id.slice(0, -3) }, /has not made/);
    await refused({ size: 0 }, /size is 0/);
    await refused({ rank: 2 }, /rank is 2 in a group of 2. Pass 0 to 1/);
    await refused({ rank: 0.5 }, /rank is 0.5/);
    await refused({ timeoutMs: 0 }, /timeoutMs is 0/);
    await refused({ device: 'cpu' }, /cpu is no GPU.*one process uses all cores/);
    await refused({ ranks: 2 }, /ranks/);
    const signal = AbortSignal.abort(new Error('enough'));
    await refused({ signal }, /enough/);
    fake('FAIL_CALL', 'commInit');
    fake('FAIL_STATUS', 5);
    await refused({}, /NCCL_INVALID_USAGE.*Each rank needs a GPU of its own/);
    fake('FAIL_CALL', undefined);
    fake('FAIL_STATUS', undefined);
    const group = await joined();
    const [first] = group;
    using there = await zeros([1], { device: gpus[1] });
    await expect(first!.allReduce(there)).rejects.toThrow(/is on cuda:1, and.*is cuda:0/);
    using truth = await zeros([1], { device: gpus[0], dtype: 'bool' });
    await expect(first!.allReduce(truth)).rejects.toThrow(/the tensor is bool/);
    await expect(first!.allReduce(7 as never)).rejects.toThrow(/the value is 7/);
    using x = await zeros([1], { device: gpus[0] });
    await expect(first!.allReduce(x, { reduction: 'add' as 'sum' })).rejects.toThrow(
      /reduction is "add". Use one of sum/,
    );
    await both(group, (one) => one.close());
  });
});
