import { prepare } from '@mercer/autodiff';
import { startProfile, tensor, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  callsOf,
  longestLine,
  useFakeDriver,
  useFakeSolvers,
} from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { adam, kfac, shampoo, soap, type LayerStatistics, type Optimiser } from '../index.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
});

/** How many launches there are of each kind. */
async function launchesOf(work: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
  const profile = startProfile();
  await work();
  const counts: Record<string, number> = {};
  for (const { name } of await profile.stop()) {
    const kind = name.split(' ')[0] ?? '';
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

describe.skipIf(!nvrtcFound())(
  'steps of second order on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    const where = { device: 'cuda:0' } as const;
    /** Matrices of two shapes and vectors of one. */
    const lists = (count: number): Promise<Tensor[]> =>
      Promise.all(
        Array.from({ length: count }, (_, k) =>
          zeros([[16, 16], [8, 16], [16]][k % 3] ?? [], where),
        ),
      );

    const cases: readonly (readonly [string, () => Optimiser, Readonly<Record<string, number>>])[] =
      [
        // a product with itself and one with a root along each of five axes; gradients with means, factors, slots, roots, the update; the squares of each shape
        [
          'shampoo',
          () => shampoo({ frequency: 'manual', mergeDims: false }),
          { totals: 1, matmul: 10, map: 5, sum: 3 },
        ],
        // along four axes one with itself, two into the bases and one back
        ['soap', () => soap({ frequency: 'manual' }), { totals: 1, matmul: 16, map: 5 }],
      ];

    /** Linear layers in a row, and what a step is given of 32 examples. */
    async function perceptron(widths: readonly number[]) {
      const params: Record<string, Tensor> = {};
      const grads: Record<string, Tensor> = {};
      const statistics: LayerStatistics[] = [];
      for (const [k, outputs] of widths.slice(1).entries()) {
        const inputs = widths[k] ?? 0;
        for (const tree of [params, grads]) {
          tree[`weight${k}`] = await zeros([outputs, inputs], where);
          tree[`bias${k}`] = await zeros([outputs], where);
        }
        statistics.push({
          kind: 'linear',
          weight: `weight${k}`,
          bias: `bias${k}`,
          inputs: await zeros([32, inputs], where),
          outputGradients: await zeros([32, outputs], where),
        });
      }
      return { params, grads, statistics } as const;
    }

    it.each([
      // products: factors of twice two shapes, gradients of three with both inverses; maps: inputs, gradients of outputs, diagonals, means, their counts, gradients, products with directions, the length, the update; sums: traces, products
      [[48, 32, 32, 10], { totals: 1, matmul: 4 + 3 * 2, map: 9, sum: 2 }],
      // of one shape: inverses are put together besides
      [[32, 32, 32], { totals: 1, matmul: 2 + 2, map: 10, sum: 2 }],
      [[32, 32, 32, 32, 32], { totals: 1, matmul: 2 + 2, map: 10, sum: 2 }],
    ])(
      'kfac: launches of layers of widths %j go by shapes, and are captured as they are',
      async (widths, wanted) => {
        const { params, grads, statistics } = await perceptron(widths);
        const optimiser = kfac({ frequency: 'manual' });
        using state = await optimiser.init(params);
        const step = async (): Promise<Tensor> =>
          (await optimiser.step(params, grads, state, { statistics })).skipped;
        (await step()).dispose();
        expect(await launchesOf(async () => (await step()).dispose())).toEqual(wanted);
        using nothing = await tensor([0], where);
        using replayed = await prepare((_: Tensor) => step(), nothing);
        replayed(nothing).dispose();
      },
    );

    const LINES: readonly (readonly [string, () => Optimiser, number])[] = [
      // the start and the copy of the argument, totals, the update
      ['adam', () => adam(), 4],
      // ..., the gradient and its mean, a product along each of two axes, squares, the update: statistics, slots and totals run beside them
      ['shampoo', () => shampoo({ frequency: 'manual', mergeDims: false }), 7],
      // ..., two products into the bases, the direction, two products back, the update
      ['soap', () => soap({ frequency: 'manual' }), 9],
    ];

    it.each(LINES)('%s: the longest line of a captured step', async (_, make, wanted) => {
      const [params, grads] = [await lists(6), await lists(6)];
      const optimiser = make();
      using state = await optimiser.init(params);
      const step = async (): Promise<Tensor> =>
        (await optimiser.step(params, grads, state)).skipped;
      using nothing = await tensor([0], where);
      (await step()).dispose();
      const calls = await callsOf(async () => {
        const replayed = await prepare((_: Tensor) => step(), nothing);
        replayed(nothing).dispose();
      });
      expect(longestLine(calls)).toBe(wanted);
      for (const one of [...params, ...grads]) one.dispose();
    });

    it.each(cases)(
      '%s: launches go by shapes, however many tensors, and are captured as they are',
      async (_, make, wanted) => {
        for (const count of [6, 12]) {
          const [params, grads] = [await lists(count), await lists(count)];
          const optimiser = make();
          using state = await optimiser.init(params);
          const step = async (): Promise<Tensor> =>
            (await optimiser.step(params, grads, state)).skipped;
          (await step()).dispose();
          const launched = await launchesOf(async () => (await step()).dispose());
          expect([count, launched]).toEqual([count, wanted]);
          using nothing = await tensor([0], where);
          using replayed = await prepare((_: Tensor) => step(), nothing);
          replayed(nothing).dispose();
          for (const one of [...params, ...grads]) one.dispose();
        }
      },
    );
  },
);
