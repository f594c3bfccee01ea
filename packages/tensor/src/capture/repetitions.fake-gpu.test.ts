import { CudaGraphExec } from '@mercer/cuda-runtime';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { fake, useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { device, full, tensor, type Device, type Tensor } from '../index.js';
import { captured } from './capture-calls.js';
import type { Replay } from './replay.js';

const CELLS = 12;

/** The fake driver's copies are real, and it repeats what a GPU repeats; all other kernels compute nothing. */
describe.skipIf(!nvrtcFound())('repeated work (skipped only without NVRTC)', () => {
  let gpu: Device;

  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 28 });
    gpu = device('cuda:0');
  });

  afterEach(() => {
    fake('LOOPS', undefined);
    vi.restoreAllMocks();
  });

  const cells = (values: readonly number[]): Promise<Tensor[]> =>
    Promise.all(values.map((one) => tensor([one, one], { device: gpu, dtype: 'float64' })));

  /** Every cell becomes the next one, and the last one 7: what the first cell is says how often. */
  async function shifting(): Promise<Replay> {
    const example = await cells(Array.from({ length: CELLS }, () => 0));
    const replay = await captured(async (all) => {
      const next = await Promise.all(all.slice(1).map((one) => one.clone()));
      return [...next, await full([2], 0, { device: gpu, dtype: 'float64' })];
    }, example);
    replay.feedBack(example.map((_, at) => [at, at]));
    for (const one of example) one.dispose();
    return replay;
  }

  async function firstCells(results: readonly Tensor[], count: number): Promise<number[]> {
    const read = await Promise.all(results.map((one) => one.toNested<number[]>()));
    for (const one of results) one.dispose();
    for (const row of read) expect(row[0]).toBe(row[1]);
    return read.slice(0, count).map(([one]) => one as number);
  }

  const numbered = Array.from({ length: CELLS }, (_, at) => 10 + at);

  it.each([
    ['the device, in two launches', 1, 2],
    ['the host, with a launch for each, where the driver has no loops', 0, 9],
  ])('is repeated by %s', async (_, loops, launches) => {
    fake('LOOPS', loops);
    const replay = await shifting();
    const launched = vi.spyOn(CudaGraphExec.prototype, 'launch');
    const args = await cells(numbered);
    expect(await firstCells(replay.call(args, { times: 9 }), 3)).toEqual([19, 20, 21]);
    expect(launched).toHaveBeenCalledTimes(launches);
    // and anew, with arguments that nobody wrote
    expect(await firstCells(replay.call(args, { times: 3 }), 3)).toEqual([13, 14, 15]);
    expect(await firstCells(replay.call(args), 3)).toEqual([11, 12, 13]);
    expect(await firstCells(replay.call(args, { times: 2 }), 3)).toEqual([12, 13, 14]);
    for (const one of args) one.dispose();
    replay.dispose();
  });

  it('ends on the device when no number of the result is 0, and at the latest when it was said to', async () => {
    const replay = await shifting();
    expect(replay.repeatsAlone(0)).toBe(true);
    const [rested, running] = await Promise.all([
      cells([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
      cells([5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]),
    ]);
    expect(await firstCells(replay.call(rested, { times: 8, rests: 0 }), 2)).toEqual([1, 2]);
    expect(await firstCells(replay.call(running, { times: 6, rests: 0 }), 4)).toEqual([0, 0, 0, 1]);
    // one launch, and one repetition at least
    const rests = await cells(numbered);
    expect(await firstCells(replay.call(rests, { times: 8, rests: 0 }), 2)).toEqual([12, 13]);
    for (const one of [...rested, ...running, ...rests]) one.dispose();
    replay.dispose();
  });

  it('is the host’s where the driver has no loops, whatever rests', async () => {
    fake('LOOPS', 0);
    const replay = await shifting();
    expect(replay.repeatsAlone(0)).toBe(false);
    const args = await cells(numbered);
    expect(await firstCells(replay.call(args, { times: 8, rests: 0 }), 2)).toEqual([18, 19]);
    for (const one of args) one.dispose();
    replay.dispose();
  });

  it('gives all memory back', async () => {
    const before = gpu.memory().liveBytes;
    const replay = await shifting();
    const args = await cells(numbered);
    for (const one of replay.call(args, { times: 5 })) one.dispose();
    for (const one of replay.call(args, { times: 5, rests: 0 })) one.dispose();
    for (const one of args) one.dispose();
    replay.dispose();
    await gpu.synchronize();
    expect(gpu.memory().liveBytes).toBe(before);
  });

  it('a result that reads no argument is taken for the next repetition before it is written', async () => {
    const where = { device: gpu, dtype: 'uint8' } as const;
    const example = await full([2], 9, where);
    const queue = await Promise.all([1, 2, 3, 4].map((one) => full([2], one, where)));
    const replay = await captured(
      async ([x]) => {
        const [first, ...others] = queue as [Tensor, ...Tensor[]];
        const taken = await first.clone();
        let to = first;
        for (const one of others) {
          await to.copyFrom(one);
          to = one;
        }
        return [taken, await (x as Tensor).clone()];
      },
      [example],
    );
    replay.feedBack([[0, 0]]);
    for (const times of [2, 4]) {
      for (const [at, one] of queue.entries()) await one.fill(at + 1);
      const [last, before] = replay.call([example], { times });
      expect(await last?.toNested()).toEqual([times, times]);
      expect(await before?.toNested()).toEqual([times - 1, times - 1]);
      for (const one of [last, before]) one?.dispose();
    }
    for (const one of [example, ...queue]) one.dispose();
    replay.dispose();
  });
});
