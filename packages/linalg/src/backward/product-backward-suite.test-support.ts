import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { kron } from '../kron.js';
import { kronMatvec } from '../kron-matvec.js';
import { matmul } from '../matmul.js';
import {
  checkRule,
  expectClose,
  randomHost,
  toDevice,
  toHost,
} from './finite-differences.test-support.js';
import { kronBackward } from './kron-backward.js';
import { kronMatvecBackward } from './kron-matvec-backward.js';
import { matmulBackward } from './matmul-backward.js';
import { only } from './rule-inputs.test-support.js';

/** Batch axes of a and of b. */
const BATCHES = [
  ['one', [], []],
  ['a batch', [2], [2]],
  ['a broadcast', [], [2]],
  ['b broadcast', [2], []],
  ['both broadcast', [2, 1], [3]],
] as const;

/** Gradients of products. */
export function productBackwardSuite(where: string, deviceOf: () => Device): void {
  describe(`matmulBackward, ${where}`, () => {
    it.each(BATCHES)('%s, turned in every way', async (_, batchA, batchB) => {
      for (const transposeA of [false, true]) {
        for (const transposeB of [false, true]) {
          const options = { transposeA, transposeB, alpha: -1.5 };
          await checkRule(
            {
              inputs: {
                a: randomHost([...batchA, ...(transposeA ? [3, 2] : [2, 3])], 1),
                b: randomHost([...batchB, ...(transposeB ? [4, 3] : [3, 4])], 2),
              },
              forward: async (inputs) => ({
                product: await matmul(only(inputs, 'a'), only(inputs, 'b'), options),
              }),
              backward: (gradients, inputs) =>
                matmulBackward(
                  only(gradients, 'product'),
                  { a: only(inputs, 'a'), b: only(inputs, 'b') },
                  options,
                ),
            },
            deviceOf(),
          );
        }
      }
    });

    it('takes gradients of any strides', async () => {
      const a = await toDevice(randomHost([2, 3], 1), 'float64', deviceOf());
      const b = await toDevice(randomHost([3, 4], 2), 'float64', deviceOf());
      const one = await toDevice({ shape: [], data: Float64Array.of(2) }, 'float64', deviceOf());
      const repeated = one.broadcastTo([2, 4]);
      const packed = await repeated.contiguous();
      const found = await matmulBackward(repeated, { a, b });
      const expected = await matmulBackward(packed, { a, b });
      for (const name of ['a', 'b'] as const) {
        const [own, other] = [await toHost(found[name]), await toHost(expected[name])];
        expectClose(own.data, other.data, 1e-14);
      }
    });
  });

  describe(`backward rules of Kronecker products, ${where}`, () => {
    it.each(BATCHES)('kron, %s', async (_, batchA, batchB) => {
      for (const [p, q, r, s] of [
        [2, 3, 3, 2],
        [1, 2, 4, 1],
      ] as const) {
        await checkRule(
          {
            inputs: { a: randomHost([...batchA, p, q], 1), b: randomHost([...batchB, r, s], 2) },
            forward: async (inputs) => ({
              product: await kron(only(inputs, 'a'), only(inputs, 'b')),
            }),
            backward: (gradients, inputs) =>
              kronBackward(only(gradients, 'product'), {
                a: only(inputs, 'a'),
                b: only(inputs, 'b'),
              }),
          },
          deviceOf(),
        );
      }
    });

    it.each([...BATCHES, ['x broadcast', [2], [2]]] as const)(
      'kronMatvec, %s',
      async (name, batchA, batchB) => {
        const batchX = name === 'x broadcast' ? [] : name === 'one' ? [] : [3, ...batchB];
        // a batch of x alone is one more axis in front
        const lead = name === 'both broadcast' ? [1, ...batchB] : batchX;
        await checkRule(
          {
            cores: { x: 1 },
            inputs: {
              a: randomHost([...batchA, 2, 3], 1),
              b: randomHost([...batchB, 4, 2], 2),
              x: randomHost([...(name === 'b broadcast' ? [3, 2] : lead), 6], 3),
            },
            forward: async (inputs) => ({
              y: await kronMatvec(only(inputs, 'a'), only(inputs, 'b'), only(inputs, 'x')),
            }),
            backward: (gradients, inputs) =>
              kronMatvecBackward(only(gradients, 'y'), {
                a: only(inputs, 'a'),
                b: only(inputs, 'b'),
                x: only(inputs, 'x'),
              }),
          },
          deviceOf(),
        );
      },
    );

    it('gives what is asked for alone', async () => {
      const a = await toDevice(randomHost([2, 2], 1), 'float32', deviceOf());
      const x = await toDevice(randomHost([4], 2), 'float32', deviceOf());
      const saved = { a, b: a, x };
      for (const wrt of [['a'], ['b'], ['x'], ['b', 'x'], []] as const) {
        expect(Object.keys(await kronMatvecBackward(x, saved, { wrt }))).toEqual(wrt);
      }
    });
  });
}
