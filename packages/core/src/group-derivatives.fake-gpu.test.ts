import {
  createGroupId,
  device,
  joinGroup,
  tensor,
  vjp,
  type ProcessGroup,
  type Tensor,
} from '@mercer/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver, useFakeNccl } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';

/** Kernels compute nothing here: what is copied, filled and reduced by the library that stands in for NCCL is true. */
describe.skipIf(!nvrtcFound())('derivatives of a group (skipped only without NVRTC)', () => {
  let group: readonly ProcessGroup[] = [];

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 2 });
    await useFakeNccl();
    const id = createGroupId();
    group = await Promise.all(
      [0, 1].map((rank) =>
        joinGroup({ id, size: 2, rank, device: device(`cuda:${rank}`), timeoutMs: 10_000 }),
      ),
    );
  });

  /** What each rank has of a call: its value, and the cotangent of what it took. */
  const pulled = (
    call: (of: ProcessGroup, x: Tensor) => PromiseLike<Tensor>,
    cotangentOf: (rank: number) => readonly unknown[],
  ): Promise<readonly (readonly [unknown, unknown])[]> =>
    Promise.all(
      group.map(async (of) => {
        const where = { device: of.device, dtype: 'float64' } as const;
        const x = await tensor([of.rank + 1, 10 * (of.rank + 1)], where);
        const { value, pull } = await vjp((own: Tensor) => call(of, own))(x);
        const by = await pull(await tensor(cotangentOf(of.rank) as never, where));
        return [await value.toNested(), await by.toNested()] as const;
      }),
    );

  it('adds up the cotangents of all processes, and averages those of means', async () => {
    const sum = await pulled(
      (of, x) => of.allReduce(x),
      (rank) => [rank + 1, 5],
    );
    expect(sum).toEqual(
      Array(2).fill([
        [3, 30],
        [3, 10],
      ]),
    );
    const mean = await pulled(
      (of, x) => of.allReduce(x, { reduction: 'mean' }),
      (rank) => [rank + 1, 5],
    );
    expect(mean).toEqual(
      Array(2).fill([
        [1.5, 15],
        [1.5, 5],
      ]),
    );
  });

  it('gives each process its part of the cotangents of what was gathered, added up', async () => {
    const found = await pulled(
      (of, x) => of.allGather(x),
      (rank) => [
        [1, 2],
        [rank, 7],
      ],
    );
    const value = [
      [1, 10],
      [2, 20],
    ];
    expect(found).toEqual([
      [value, [2, 4]],
      [value, [1, 14]],
    ]);
  });

  it('adds up the gradients of what all processes have alike', async () => {
    const found = await pulled(
      (of, x) => of.replicated(x),
      (rank) => [rank, 1],
    );
    expect(found).toEqual([
      [
        [1, 10],
        [1, 2],
      ],
      [
        [2, 20],
        [1, 2],
      ],
    ]);
  });

  it('refuse reductions that depend on elements of other processes, with another way', async () => {
    const [of] = group;
    const x = await tensor([1, 2], { device: of!.device });
    const largest = (rank: number): Promise<unknown> =>
      pulled(
        (one, own) => one.allReduce(own, { reduction: 'maximum' }),
        () => [rank, 1],
      );
    await expect(largest(0)).rejects.toThrow(
      /group.allReduce: cannot be differentiated, reduction is maximum.*Gather them with group.allGather/,
    );
    expect(await of!.replicated(x).toNested()).toEqual([1, 2]);
    const there = await tensor([1], { device: 'cuda:1' });
    await expect(of!.replicated(there)).rejects.toThrow(/is on cuda:1, and.*is cuda:0/);
    await Promise.all(group.map((one) => one.close()));
  });
});
