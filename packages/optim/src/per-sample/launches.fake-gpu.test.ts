import { prepare } from '@mercer/autodiff';
import { empty, random, startProfile, tensor, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { layers, losses, perSampleGradients } from '../index.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
});

describe.skipIf(!nvrtcFound())(
  'gradients of each example on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    const where = { device: 'cuda:0' } as const;
    const EXAMPLES = 6;

    it('are computed where they are written: a capture has no works but kernels, and copies of the arguments', async () => {
      const network = layers.sequential({
        first: layers.linear({ inputs: 5, outputs: 4 }),
        relu: layers.relu(),
        last: layers.linear({ inputs: 4, outputs: 3 }),
      });
      const params = await network.init(random.key(1), where);
      const inputs = await random.normal([EXAMPLES, 5], { key: random.key(2), ...where });
      const targets = await tensor(new Int32Array(EXAMPLES), where);
      const loss = (p: typeof params, x: Tensor, labels: Tensor) =>
        losses.crossEntropy(network.apply(p, x), labels);
      const roomFor = (one: Tensor): Tensor =>
        empty([EXAMPLES, ...one.shape], { dtype: one.dtype, ...where });
      const roomOf = (own: Readonly<Record<string, Tensor>>): object =>
        Object.fromEntries(Object.entries(own).map(([name, one]) => [name, roomFor(one)]));
      const out = Object.fromEntries(
        Object.entries(params).map(([name, own]) => [name, roomOf(own as never)]),
      ) as never;
      const written = async (x: Tensor, labels: Tensor): Promise<void> => {
        await perSampleGradients(loss as never, params, x, labels, { out });
      };
      await written(inputs, targets);
      const profile = startProfile();
      await written(inputs, targets);
      const works = (await profile.stop()).length;
      const calls = await callsOf(async () => {
        (await prepare(written, inputs, targets)).dispose();
      });
      const captured = calls.filter((line) => line.startsWith('captured '));
      // where it begins, copies of the arguments, and the numbers of the examples: none for each of the four results
      expect(captured.length - works).toBe(4);
    });
  },
);
