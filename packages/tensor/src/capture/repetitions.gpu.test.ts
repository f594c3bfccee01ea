import { cuda } from '@mercer/cuda-runtime';
import { describe, expect, it, test } from 'vitest';
import { devices, tensor, type Device, type Tensor } from '../index.js';
import { captured } from './capture-calls.js';
import type { Replay } from './replay.js';

const gpus = devices().filter(({ kind }) => kind === 'cuda');

if (gpus.length === 0) test.skip('GPU tests: no CUDA device', () => undefined);

/** Loops of the device came with CUDA 12.4. */
const hasLoops = (): boolean => {
  const [major = 0, minor = 0] = (cuda.report().driver.version ?? '').split('.').map(Number);
  return major > 12 || (major === 12 && minor >= 4);
};

describe.each(gpus.map((gpu) => [gpu.id, gpu] as const))(
  'repeated work on %s',
  (_, gpu: Device) => {
    const numbers = (values: readonly number[]): Promise<Tensor<'float64'>> =>
      tensor(values, { device: gpu, dtype: 'float64' });

    /** Counts down, and adds what is left: the sum of both tells how often. */
    async function countdown(): Promise<Replay> {
      const [left, sum] = await Promise.all([numbers([0, 0]), numbers([0, 0])]);
      const replay = await captured(
        async ([from, to]) => {
          const less = await (from as Tensor<'float64'>).sub(1);
          return [
            less,
            await (to as Tensor<'float64'>).add(less),
            await less.lt(0).cast('float64'),
          ];
        },
        [left, sum],
      );
      replay.feedBack([
        [0, 0],
        [1, 1],
      ]);
      for (const one of [left, sum]) one.dispose();
      return replay;
    }

    async function run(
      replay: Replay,
      begin: readonly number[],
      times: number,
      rests?: number,
    ): Promise<readonly number[][]> {
      const args = await Promise.all([numbers(begin), numbers([0, 100])]);
      const results = replay.call(args, { times, rests });
      const read = await Promise.all(results.map((one) => one.toNested<number[]>()));
      for (const one of [...args, ...results]) one.dispose();
      return read.slice(0, 2);
    }

    it('is a loop of the device where the driver can, which ends where it is to', async () => {
      const replay = await countdown();
      expect(replay.repeatsAlone(2)).toBe(hasLoops());
      expect(await run(replay, [10, 20], 4)).toEqual([
        [6, 16],
        [9 + 8 + 7 + 6, 100 + 19 + 18 + 17 + 16],
      ]);
      for (const times of [1, 2, 3, 1000]) {
        const [left] = await run(replay, [times, 0], times);
        expect(left).toEqual([0, -times]);
      }
      // rests when both are below 0: after the sixth repetition
      const isAlone = hasLoops();
      expect((await run(replay, [5, 2], 50, 2))[0]).toEqual(isAlone ? [-1, -4] : [-45, -48]);
      expect((await run(replay, [5, 2], 4, 2))[0]).toEqual([1, -2]);
      // and twice at least
      expect((await run(replay, [-1, -1], 50, 2))[0]).toEqual(isAlone ? [-3, -3] : [-51, -51]);
      replay.dispose();
    });

    it('goes on while the host does other things, and is done before what follows it', async () => {
      const replay = await countdown();
      const found = await Promise.all(
        Array.from({ length: 20 }, (_one, at) => run(replay, [at, 0], 100)),
      );
      for (const [at, [left]] of found.entries()) expect(left).toEqual([at - 100, -100]);
      replay.dispose();
      await gpu.synchronize();
    });
  },
);
