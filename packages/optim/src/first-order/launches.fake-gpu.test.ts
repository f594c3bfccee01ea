import { device, startProfile, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { adam, adamW, ema, lossScale, parameterGroups, sgd, type Optimiser } from '../index.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
});

async function launchesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).map(({ name }) => name.split(' ')[0] ?? '');
}

describe.skipIf(!nvrtcFound())(
  'steps on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    const where = { device: 'cuda:0' } as const;
    /** 100 tensors of different shapes, 10 million elements together. */
    const lists = (): Promise<Tensor[]> =>
      Promise.all(
        Array.from({ length: 100 }, (_, s) =>
          zeros(s % 2 === 0 ? [1000 + s, 199] : [s + 1], where),
        ),
      );

    const cases: readonly (readonly [string, () => Optimiser, readonly string[]])[] = [
      ['adam', () => adam(), ['totals', 'map']],
      ['adamW with a norm that is limited', () => adamW({ maxGradNorm: 1 }), ['totals', 'map']],
      ['sgd with momentum', () => sgd({ momentum: 0.9 }), ['totals', 'map']],
      ['a scaled loss', () => lossScale(adam()), ['totals', 'map']],
      ['what looks at no gradient', () => adam({ nonFinite: 'ignore' }), ['map', 'map']],
      [
        'two groups',
        () =>
          parameterGroups({
            groups: { plain: sgd(), decayed: adamW() },
            of: (_, { rank }) => (rank === 1 ? 'plain' : 'decayed'),
          }),
        ['totals', 'map', 'map'],
      ],
    ];

    it.each(cases)(
      '%s: a few launches, however many tensors, and no memory',
      async (_, make, wanted) => {
        const [params, grads] = [await lists(), await lists()];
        const optimiser = make();
        const kept = await memoryKept(device('cuda:0'), async () => {
          using state = await optimiser.init(params);
          for (let step = 1; step <= 3; step++) {
            const launched = await launchesOf(async () => {
              const { skipped } = await optimiser.step(params, grads, state);
              skipped.dispose();
            });
            expect(launched).toEqual(wanted);
          }
        });
        expect(kept).toEqual(NOTHING);
        for (const one of [...params, ...grads]) one.dispose();
      },
    );

    it('an average of parameters is one launch', async () => {
      const params = await lists();
      const kept = await memoryKept(device('cuda:0'), async () => {
        using average = await ema(params);
        expect(await launchesOf(() => average.update(params))).toEqual(['map']);
      });
      expect(kept).toEqual(NOTHING);
    });
  },
);
