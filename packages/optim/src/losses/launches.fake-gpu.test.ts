import { valueAndGrad } from '@mercer/autodiff';
import { startProfile, zeros, type Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { losses } from '../index.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
});

async function launchesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).map(({ name }) => name.split(' ')[0] ?? '');
}

describe.skipIf(!nvrtcFound())(
  'losses on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    const where = { device: 'cuda:0' } as const;
    const CLASSES: readonly string[] = ['logSumExp', 'map', 'gather-rows', 'map', 'sum'];

    const cases: readonly (readonly [
      name: string,
      run: (x: Value, y: Value, labels: Value) => Value,
      forward: readonly string[],
      backward: readonly string[],
    ])[] = [
      // the cotangent of an example, and softmax less the target
      ['crossEntropy', (x, _, labels) => losses.crossEntropy(x, labels), CLASSES, ['map', 'map']],
      [
        'crossEntropy with labelSmoothing',
        (x, _, labels) => losses.crossEntropy(x, labels, { labelSmoothing: 0.1 }),
        ['logSumExp', 'map', 'gather-rows', 'sum', 'map', 'sum'],
        ['map', 'map'],
      ],
      [
        'crossEntropy with ignoreIndex',
        (x, _, labels) => losses.crossEntropy(x, labels, { ignoreIndex: -100 }),
        // which labels count, how many, and the quotient
        [...CLASSES, 'map', 'sum', 'map'],
        ['map', 'map'],
      ],
      [
        'nll',
        (x, _, labels) => losses.nll(x, labels),
        ['map', 'gather-rows', 'map', 'sum'],
        ['map', 'map'],
      ],
      ['mse', (x, y) => losses.mse(x, y), ['sum'], ['map']],
      ['l1', (x, y) => losses.l1(x, y), ['sum'], ['map']],
      ['huber', (x, y) => losses.huber(x, y), ['sum'], ['map']],
      [
        'binaryCrossEntropyWithLogits',
        (x, y) => losses.binaryCrossEntropyWithLogits(x, y),
        ['sum'],
        ['map'],
      ],
    ];

    it.each(cases)('%s', async (_, run, forward, backward) => {
      using x = await zeros([128, 10], where);
      using y = await zeros([128, 10], where);
      using labels = await zeros([128], { ...where, dtype: 'int32' });
      const f = (v: Tensor): Value => run(v, y, labels);
      const sorted = (names: readonly string[]): readonly string[] => names.toSorted();
      expect(sorted(await launchesOf(async () => f(x)))).toEqual(sorted(forward));
      const both = await launchesOf(() => valueAndGrad(f)(x));
      expect(sorted(both)).toEqual(sorted([...forward, ...backward]));
    });
  },
);
