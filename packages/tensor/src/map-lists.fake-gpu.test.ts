import { add, mul, sub, variable } from '@mercer/formula';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../test/memory-kept.mjs';
import { zeros } from './create.js';
import { device } from './devices.js';
import { map } from './map.js';
import { launches } from './testing/what-happens.test-support.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 28 });
});

const [p, g, m, rate] = [variable('p'), variable('g'), variable('m'), variable('rate')];
const moment = add(mul(0.9, m), g);
const STEP = { p: sub(p, mul(rate, moment)), m: moment };

describe.skipIf(!nvrtcFound())(
  'maps of lists on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    // five pointers, an extent and an end of each tensor, and one number, in 32764 bytes
    it.each([
      [1, 1],
      [6, 1],
      [74, 1],
      [584, 1],
      [585, 2],
    ])('steps of %i tensors of different shapes are %i launches', async (count, wanted) => {
      const lists = async () =>
        Promise.all(
          Array.from({ length: count }, (_, s) => zeros([s + 1, 3], { device: 'cuda:0' })),
        );
      const [own, gradients, moments] = [await lists(), await lists(), await lists()];
      const state = { p: own, m: moments };
      const kept = await memoryKept(device('cuda:0'), async () => {
        for (let step = 1; step <= 3; step++) {
          const options = { out: state, parameters: { rate: 1 / step } };
          expect(await launches(() => map(STEP, { ...state, g: gradients }, options))).toBe(wanted);
        }
        const made = await map(STEP, { ...state, g: gradients }, { parameters: { rate: 1 } });
        for (const one of [...made.p, ...made.m]) one.dispose();
      });
      expect(kept).toEqual(NOTHING);
      for (const one of [...own, ...gradients, ...moments]) one.dispose();
    });
  },
);
