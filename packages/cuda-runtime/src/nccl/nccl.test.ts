import { beforeAll, describe, expect, test } from 'vitest';
import {
  callsOf,
  fake,
  settledCounts,
  useFakeDriver,
  useFakeNccl,
} from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { CudaDevice } from '../device.js';
import { NcclError } from '../errors.js';
import { loadAddon } from '../native/load-addon.js';
import type { NcclCommunicator, NcclReduction } from './communicator.js';
import { nccl } from './nccl.js';

let devices: CudaDevice[] = [];

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 3 });
  await useFakeNccl();
  devices = [0, 1, 2].map((index) => cuda.device(index));
});

/** All ranks of a group in this process, each on a device of its own. */
const joined = async (timeoutMs = 10_000, size = 3): Promise<NcclCommunicator[]> => {
  const id = nccl.uniqueId();
  return Promise.all(
    devices.slice(0, size).map((device, rank) => nccl.join(device, { id, size, rank, timeoutMs })),
  );
};

const closed = async (group: readonly NcclCommunicator[]): Promise<void> => {
  await Promise.all(group.map((one) => one.close()));
  for (const one of group) one.dispose();
};

const upload = async (
  rank: number,
  values: Float32Array | BigInt64Array,
): Promise<DeviceBuffer> => {
  const { defaultStream: stream } = devices[rank]!;
  const buffer = devices[rank]!.allocate(Math.max(1, values.byteLength), stream);
  await stream.copyToDevice(buffer, 0, values);
  return buffer;
};

const download = async (rank: number, buffer: DeviceBuffer, count: number): Promise<number[]> => {
  const found = new Float32Array(count);
  await devices[rank]!.defaultStream.copyToHost(found, buffer);
  return [...found];
};

const rejection = async (work: Promise<unknown>): Promise<NcclError> =>
  work.then(
    () => expect.fail('it did not reject'),
    (error: unknown) => error as NcclError,
  );

describe('a group of ranks', () => {
  test.each([
    ['sum', [7, 70]],
    ['product', [8, 8000]],
    ['maximum', [4, 40]],
    ['minimum', [1, 10]],
    ['mean', [7 / 3, 70 / 3]],
  ] as const)(
    'reduces the elements of all by their %s',
    async (reduction: NcclReduction, wanted) => {
      const group = await joined();
      const found = await Promise.all(
        group.map(async (one, rank) => {
          const input = await upload(rank, Float32Array.of(2 ** rank, 10 * 2 ** rank));
          const region = { buffer: input };
          const { defaultStream } = devices[rank]!;
          await one.allReduce(defaultStream, {
            dtype: 'float32',
            count: 2,
            input: region,
            output: region,
            reduction,
          });
          return download(rank, input, 2);
        }),
      );
      for (const one of found) expect(one).toEqual([...Float32Array.from(wanted)]);
      await closed(group);
    },
  );

  test('gathers the elements of all in the order of ranks, also where one comes late, and many calls in their order', async () => {
    const group = await joined();
    const found = await Promise.all(
      group.map(async (one, rank) => {
        const { defaultStream } = devices[rank]!;
        await new Promise((resolve) => setTimeout(resolve, 30 * rank));
        const input = await upload(rank, Float32Array.of(rank, rank + 10));
        const outputs = await Promise.all([0, 1, 2].map(() => upload(rank, new Float32Array(6))));
        const calls = outputs.map((buffer) =>
          one.allGather(defaultStream, {
            dtype: 'float32',
            count: 2,
            input: { buffer: input },
            output: { buffer },
          }),
        );
        await Promise.all(calls);
        return download(rank, outputs[2]!, 6);
      }),
    );
    for (const one of found) expect(one).toEqual([0, 10, 1, 11, 2, 12]);
    await closed(group);
  });

  test('of one rank is a copy, and calls of no elements compute nothing', async () => {
    const [one] = await joined(10_000, 1);
    const { defaultStream } = devices[0]!;
    const input = await upload(0, Float32Array.of(5));
    const output = await upload(0, Float32Array.of(0));
    const regions = { input: { buffer: input }, output: { buffer: output } };
    await one!.allReduce(defaultStream, { dtype: 'float32', count: 1, ...regions });
    expect(await download(0, output, 1)).toEqual([5]);
    const lines = await callsOf(() =>
      one!.allReduce(defaultStream, { dtype: 'float32', count: 0, ...regions }),
    );
    expect(lines.some((line) => line.startsWith('allReduce'))).toBe(false);
    await closed([one!]);
  });

  test('keeps nothing', async () => {
    const { addon } = loadAddon();
    await closed(await joined());
    const before = await settledCounts(addon);
    await closed(await joined());
    expect(await settledCounts(addon)).toEqual(before);
  });
});

describe('ranks that do not do the same', () => {
  test('are told on all of them, and the group goes on', async () => {
    const group = await joined(10_000, 2);
    const call = async (rank: number, count: number, dtype: 'float32' | 'int32'): Promise<void> => {
      const buffer = await upload(rank, Float32Array.of(1, 2));
      const region = { buffer };
      const { defaultStream } = devices[rank]!;
      await group[rank]!.allReduce(defaultStream, { dtype, count, input: region, output: region });
    };
    const errors = await Promise.all([
      rejection(call(0, 2, 'float32')),
      rejection(call(1, 1, 'float32')),
    ]);
    expect(errors.map(({ code }) => code)).toEqual(['GROUP_MISMATCH', 'GROUP_MISMATCH']);
    expect(errors[0].message).toBe(
      'rank 1 calls a sum of 1 float32 values, and rank 0 a sum of 2 float32 values. All ranks call the same with tensors of ' +
        'one shape and dtype, in the same order. Nothing was computed, and the group goes on.',
    );
    const types = await Promise.all([
      rejection(call(0, 2, 'float32')),
      rejection(call(1, 2, 'int32')),
    ]);
    expect(types[1].message).toContain(
      'rank 0 calls a sum of 2 float32 values, and rank 1 a sum of 2 int32',
    );
    await Promise.all([call(0, 2, 'float32'), call(1, 2, 'float32')]);
    await closed(group);
  });

  test('end with a timeout where one is missing, and the group with them', async () => {
    const group = await joined(80, 2);
    const buffer = await upload(0, Float32Array.of(1));
    const region = { buffer };
    const call = (): Promise<void> =>
      group[0]!.allReduce(devices[0]!.defaultStream, {
        dtype: 'float32',
        count: 1,
        input: region,
        output: region,
      });
    const error = await rejection(call());
    expect(error).toBeInstanceOf(NcclError);
    expect(error.code).toBe('NCCL_TIMEOUT');
    expect(error.message).toMatch(
      /not all ranks came within 80 ms. See whether the other processes live/,
    );
    const later = await rejection(call());
    expect(later).toMatchObject({ code: 'GROUP_ENDED' });
    expect(later.message).toBe('the group ended with NCCL_TIMEOUT. Join a new group.');
    await closed(group);
    expect(await rejection(group[0]!.close())).toMatchObject({ code: 'DISPOSED' });
  });

  test('are given up by abort, by dispose, and by the signal of joining', async () => {
    const group = await joined(10_000, 2);
    const buffer = await upload(0, Float32Array.of(1));
    const region = { buffer };
    const call = group[0]!.allReduce(devices[0]!.defaultStream, {
      dtype: 'float32',
      count: 1,
      input: region,
      output: region,
    });
    setTimeout(() => {
      group[0]!.abort();
    }, 20);
    expect(await rejection(call)).toMatchObject({ code: 'NCCL_ABORTED' });
    for (const one of group) one.dispose();
    const controller = new AbortController();
    const { signal } = controller;
    const alone = nccl.join(devices[0]!, { id: nccl.uniqueId(), size: 2, rank: 0, signal });
    setTimeout(() => {
      controller.abort(new Error('enough'));
    }, 20);
    await expect(alone).rejects.toThrow('enough');
    const late = nccl.join(devices[0]!, { id: nccl.uniqueId(), size: 2, rank: 0, timeoutMs: 40 });
    expect(await rejection(late)).toMatchObject({ code: 'NCCL_TIMEOUT' });
  });

  test.each([
    ['commInit', 5, 'NCCL_INVALID_USAGE', 'Each rank needs a GPU of its own'],
    ['asyncError', 6, 'NCCL_REMOTE_ERROR', 'Another process has ended'],
  ])('%s failing with %i is a NcclError', async (call, status, name, remedy) => {
    fake('FAIL_CALL', call);
    fake('FAIL_STATUS', status);
    try {
      const error = await rejection(joined(10_000, 1));
      expect(error).toMatchObject({
        code: name,
        status,
        call: 'ncclCommInitRankConfig',
        device: 0,
      });
      expect(error.message).toContain(remedy);
    } finally {
      fake('FAIL_CALL', undefined);
      fake('FAIL_STATUS', undefined);
    }
  });

  test('is refused with ids that are none, memory that does not reach, a capture and another device', async () => {
    const [one] = await joined(10_000, 1);
    const id = new Uint8Array(3);
    await expect(nccl.join(devices[0]!, { id, size: 1, rank: 0 })).rejects.toThrow(
      'an id has 128 bytes, got 3',
    );
    const buffer = await upload(0, Float32Array.of(1));
    const region = { buffer };
    const options = { dtype: 'float32', count: 1, input: region, output: region } as const;
    const { defaultStream } = devices[0]!;
    await expect(one!.allReduce(defaultStream, { ...options, count: 99 })).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
    });
    await expect(one!.allReduce(devices[1]!.defaultStream, options)).rejects.toMatchObject({
      code: 'DEVICE_MISMATCH',
    });
    const stream = devices[0]!.createStream();
    stream.beginCapture();
    await expect(one!.allReduce(stream, options)).rejects.toMatchObject({ code: 'CAPTURING' });
    stream.endCapture();
    await one!.allReduce(defaultStream, options);
    await one!.close();
    await expect(one!.allReduce(defaultStream, options)).rejects.toThrow(
      'the group ended with close(). Join a new group.',
    );
    one!.dispose();
  });
});
