import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { device, empty, full, zeros, type Device, type Tensor } from '../index.js';
import { captured } from './capture-calls.js';
import type { Replay } from './replay.js';
import { WorkOrder } from './work-order.js';

const COUNT = 1024;

/**
 * The fake driver's graphs run what was captured last first, as far as their edges allow; its copies and fills are real, and its kernels
 * compute nothing.
 */
describe.skipIf(!nvrtcFound())('captured work side by side (skipped only without NVRTC)', () => {
  let gpu: Device;
  let edges: WorkOrder['edges'];

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 28 });
    gpu = device('cuda:0');
  });

  beforeEach(() => {
    const { end } = WorkOrder.prototype;
    vi.spyOn(WorkOrder.prototype, 'end').mockImplementation(function (this: WorkOrder) {
      end.call(this);
      edges = this.edges;
    });
    return () => vi.restoreAllMocks();
  });

  const bytes = (value: number): Promise<Tensor<'uint8'>> =>
    full([COUNT], value, { dtype: 'uint8', device: gpu });

  async function replayOf(work: (x: Tensor) => Promise<Tensor>): Promise<Replay> {
    using example = await bytes(7);
    return await captured(async ([x]) => [await work(x as Tensor)], [example]);
  }

  async function resultOf(replay: Replay, x: number): Promise<Uint8Array> {
    using given = await bytes(x);
    const [result] = replay.call([given]) as [Tensor<'uint8'>];
    using made = result;
    return await made.toTypedArray();
  }

  /** How many works follow each other at most. */
  const longestLine = (): number => {
    const lengths: number[] = [];
    for (const after of edges)
      lengths.push(1 + Math.max(0, ...after.map((one) => lengths[one] ?? 0)));
    return Math.max(...lengths);
  };

  it('a tensor that is written again and again is copied each time before the next write', async () => {
    using target = await zeros([COUNT], { dtype: 'uint8', device: gpu });
    const out = empty([8, COUNT], { dtype: 'uint8', device: gpu });
    const replay = await replayOf(async (x) => {
      for (let k = 0; k < 8; k++) {
        await target.fill(k);
        await out.slice(k).copyFrom(target);
      }
      return x.clone();
    });
    expect(await resultOf(replay, 5)).toEqual(new Uint8Array(COUNT).fill(5));
    const rows = await out.toNested<number[][]>();
    expect(rows.map((row) => [...new Set(row)])).toEqual([[0], [1], [2], [3], [4], [5], [6], [7]]);
    replay.dispose();
    out.dispose();
  });

  it('memory that is given back and taken again has been read before', async () => {
    // of small ones more wait than there are here
    const large = 2 ** 18;
    const out = empty([24, large], { dtype: 'uint8', device: gpu });
    const before = gpu.memory().liveBytes;
    const replay = await replayOf(async (x) => {
      for (let k = 0; k < 24; k++) {
        using value = await full([large], k, { dtype: 'uint8', device: gpu });
        // one copy follows the other, and nothing else keeps back the fills
        await out.slice(k).copyFrom(value);
      }
      return x.clone();
    });
    expect(gpu.memory().liveBytes - before).toBeLessThan(10 * large);
    await out.fill(0);
    await resultOf(replay, 3);
    const rows = await out.toNested<number[][]>();
    expect(rows.map((row) => [...new Set(row)])).toEqual(Array.from({ length: 24 }, (_, k) => [k]));
    replay.dispose();
    out.dispose();
  });

  it('small memory is taken again late, so that long lines run beside each other', async () => {
    const lines = 4;
    const program = async (x: Tensor): Promise<Tensor> => {
      for (let line = 0; line < lines; line++) {
        let last = await bytes(line);
        for (let k = 0; k < 16; k++) {
          using before = last;
          last = await before.clone();
        }
        last.dispose();
      }
      return x.clone();
    };
    const replay = await replayOf(program);
    expect(longestLine()).toBe(18);
    replay.dispose();
  });

  it('an argument that the function writes where it lies outside has been read before', async () => {
    using state = await bytes(7);
    const replay = await replayOf(async (x) => {
      const given = await x.clone();
      await state.fill(0);
      return given;
    });
    await state.fill(9);
    const [result] = replay.call([state]) as [Tensor<'uint8'>];
    using made = result;
    expect(await made.toTypedArray()).toEqual(new Uint8Array(COUNT).fill(9));
    expect(await state.toTypedArray()).toEqual(new Uint8Array(COUNT));
    replay.dispose();
  });

  it('values that another capture computed are refused as arguments', async () => {
    let inside: Tensor | undefined;
    const other = await replayOf(async (x) => {
      inside = await x.clone();
      return inside.clone();
    });
    const replay = await replayOf((x) => x.clone());
    expect(() => replay.call([inside as Tensor])).toThrow(
      expect.objectContaining({ code: 'CAPTURED' }),
    );
    for (const one of [replay, other]) one.dispose();
    inside?.dispose();
  });

  it('memory of many sizes that waits to be taken again has one bound', async () => {
    const mebibytes = 2 ** 20;
    const before = gpu.memory().liveBytes;
    const replay = await replayOf(async (x) => {
      for (const size of [32, 48, 64]) {
        for (let k = 0; k < 4; k++) {
          using value = await full([size * mebibytes], k, { dtype: 'uint8', device: gpu });
          expect(value.size).toBe(size * mebibytes);
        }
      }
      return x.clone();
    });
    // 128 MiB, and one of each larger size
    expect(gpu.memory().liveBytes - before).toBeLessThan(241 * mebibytes);
    replay.dispose();
  });

  it('memory is taken again at once where there is no more', async () => {
    const size = 2 ** 25;
    using target = await zeros([size], { dtype: 'uint8', device: gpu });
    const program = async (x: Tensor): Promise<Tensor> => {
      for (let k = 0; k < 6; k++) {
        using value = await full([size], k, { dtype: 'uint8', device: gpu });
        await target.copyFrom(value);
      }
      return x.clone();
    };
    // three of the six fit beside it
    using ballast = await zeros([2 ** 28 - 5 * size], { dtype: 'uint8', device: gpu });
    const replay = await replayOf(program);
    expect(ballast.disposed).toBe(false);
    expect(await resultOf(replay, 4)).toEqual(new Uint8Array(COUNT).fill(4));
    expect((await target.toTypedArray()).every((one) => one === 5)).toBe(true);
    replay.dispose();
  });

  it('what shares no memory follows nothing, and its results are there behind the replay', async () => {
    const made = await Promise.all(
      [1, 2, 3].map(() => zeros([COUNT], { device: gpu, dtype: 'uint8' })),
    );
    const replay = await replayOf(async (x) => {
      for (const [k, one] of made.entries()) await one.fill(k + 1);
      return x.clone();
    });
    // the argument, which might lie in what they write, is copied in, and its copy out
    expect(edges).toEqual([[], [0], [0], [0], [0], [4]]);
    expect(await resultOf(replay, 8)).toEqual(new Uint8Array(COUNT).fill(8));
    for (const [k, one] of made.entries()) {
      expect(await one.toTypedArray()).toEqual(new Uint8Array(COUNT).fill(k + 1));
      one.dispose();
    }
    replay.dispose();
  });

  it('branches of a program run beside each other, and meet where they are used together', async () => {
    const f = async (x: Tensor): Promise<Tensor> => {
      const wide = await (x as Tensor<'float32'>).add(1);
      const branches = await Promise.all([2, 3, 4].map(async (k) => await wide.mul(k).sum(0)));
      const [a, b, c] = branches as [Tensor<'float32'>, Tensor<'float32'>, Tensor<'float32'>];
      return await a.add(b).add(c);
    };
    using example = await zeros([64, 8], { device: gpu });
    const replay = await captured(async ([x]) => [await f(x as Tensor)], [example]);
    expect(edges).toEqual([[], [0], [1], [1], [1], [2, 3, 4], [5]]);
    expect(longestLine()).toBe(5);
    replay.dispose();
  });
});
