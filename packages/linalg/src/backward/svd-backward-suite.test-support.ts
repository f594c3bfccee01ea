import type { Device, Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  at,
  dense,
  flip,
  randomMatrix,
  randomOrthogonal,
  times,
  toDense,
  type Dense,
} from '../matrices.test-support.js';
import { svd } from '../svd.js';
import {
  checkRule,
  expectClose,
  randomHost,
  toDevice,
  toHost,
  type Host,
  type Hosts,
} from './finite-differences.test-support.js';
import {
  inner,
  matricesOf,
  only,
  pick,
  put as putOn,
  signsLike,
  withSigns,
} from './rule-inputs.test-support.js';
import type { SpectrumWarning } from './spectrum.js';
import { svdBackward } from './svd-backward.js';

/** A pair of singular vectors changes sign together. */
function alignSingular(results: Hosts, unchanged: Hosts): Hosts {
  const { u, vh } = results;
  const [baseU, baseV] = [unchanged['u'], unchanged['vh']];
  const signs =
    u !== undefined && baseU !== undefined
      ? signsLike(u, baseU, -1)
      : vh !== undefined && baseV !== undefined
        ? signsLike(vh, baseV, -2)
        : undefined;
  if (signs === undefined) return results;
  return {
    ...results,
    ...(u === undefined ? {} : { u: withSigns(u, signs, -1) }),
    ...(vh === undefined ? {} : { vh: withSigns(vh, signs, -2) }),
  };
}

/** Gradients of singular values and vectors. */
export function svdBackwardSuite(
  where: string,
  deviceOf: () => Device,
  { full }: { readonly full: boolean },
): void {
  const put = (matrices: Dense | readonly Dense[]): Promise<Tensor<'float64'>> =>
    putOn(matrices, deviceOf());

  describe(`svdBackward, ${where}`, () => {
    const shaped = (batch: readonly number[], m: number, n: number): Host =>
      matricesOf(batch, (seed) => {
        const few = Math.min(m, n);
        const s = Array.from({ length: few }, (_, i) => 3 - 0.8 * i);
        const u = randomOrthogonal(m, seed);
        const v = randomOrthogonal(n, seed + 5);
        const left = dense(m, few, (i, j) => at(u, i, j) * (s[j] ?? 0));
        return times(
          left,
          dense(few, n, (i, j) => at(v, i, j)),
        );
      });

    const NAMES = [['u'], ['s'], ['vh'], ['u', 's'], ['s', 'vh'], ['u', 'vh'], ['u', 's', 'vh']];

    const SHAPES = [
      [[], 4, 4],
      [[], 5, 3],
      [[], 3, 5],
      [[2], 3, 2],
      [[2, 1], 1, 3],
    ] as const;

    // Every other shape in turn, unless it is all of them: each gradient meets one that is not square, and a batch.
    it.each(NAMES.map((names, turn) => [names.join(' and '), names, turn] as const))(
      '%s: tall, wide and square, one and batches',
      async (_, names, turn) => {
        for (const [batch, m, n] of SHAPES.filter((_, at) => full || (at + turn) % 2 === 0)) {
          await checkRule(
            {
              cores: { s: 1 },
              align: alignSingular,
              inputs: { a: shaped(batch, m, n) },
              forward: async (inputs) => {
                const { u, s, vh } = await svd(only(inputs, 'a'));
                return pick({ u, s, vh }, names);
              },
              backward: async (gradients, inputs) =>
                svdBackward(gradients, await svd(only(inputs, 'a'))),
            },
            deviceOf(),
          );
        }
      },
    );

    it('gives the true gradient of the polar factor at equal singular values', async () => {
      // u vh is smooth where no singular value is 0, whatever the others are
      for (const [m, n] of [
        [4, 4],
        [5, 3],
        [3, 5],
      ] as const) {
        const few = Math.min(m, n);
        const weight = randomMatrix(m, n, 8);
        const direction = randomMatrix(m, n, 9);
        const [p, q] = [randomOrthogonal(m, 1), randomOrthogonal(n, 2)];
        const s = [2, 2, 2, 1];
        const a = times(
          dense(m, few, (i, j) => at(p, i, j) * (s[j] ?? 0)),
          dense(few, n, (i, j) => at(q, i, j)),
        );
        const factors = async (step: number): Promise<readonly [Dense, Dense]> => {
          const moved = dense(m, n, (i, j) => at(a, i, j) + step * at(direction, i, j));
          const { u, vh } = await svd(await put(moved));
          return [(await toDense(u))[0] as Dense, (await toDense(vh))[0] as Dense];
        };
        const loss = async (step: number): Promise<number> =>
          inner(weight, times(...(await factors(step))));
        const slope = ((await loss(1e-5)) - (await loss(-1e-5))) / 2e-5;
        const saved = await svd(await put(a));
        const [u] = (await toDense(saved.u)) as [Dense];
        const [vh] = (await toDense(saved.vh)) as [Dense];
        const gradients = {
          u: await put(times(weight, flip(vh))),
          vh: await put(times(flip(u), weight)),
        };
        const warnings: SpectrumWarning[] = [];
        const onDegenerate = (warning: SpectrumWarning): void => void warnings.push(warning);
        const { a: da } = await svdBackward(gradients, saved, { onDegenerate });
        const [found] = (await toDense(da)) as [Dense];
        expectClose([inner(found, direction)], [slope], 1e-6);
        expect(warnings.map(({ pairs }) => pairs)).toEqual([
          [
            [0, 1],
            [0, 2],
            [1, 2],
          ],
        ]);
      }
    });

    it('is finite at singular values of 0, and tells', async () => {
      const warnings: SpectrumWarning[] = [];
      const matrices = [dense(3, 2, () => 0), dense(3, 2, (i, j) => (i === j ? 1 - j : 0))];
      const saved = await svd(await put(matrices));
      const gradients = {
        u: await toDevice(randomHost([2, 3, 2], 1), 'float64', deviceOf()),
        vh: await toDevice(randomHost([2, 2, 2], 2), 'float64', deviceOf()),
      };
      const onDegenerate = (warning: SpectrumWarning): void => void warnings.push(warning);
      const { data } = await toHost((await svdBackward(gradients, saved, { onDegenerate })).a);
      expect(data.every(Number.isFinite)).toBe(true);
      expect(data.subarray(0, 6).every((x) => x === 0)).toBe(true);
      expect(data.subarray(6).some((x) => x !== 0)).toBe(true);
      expect(warnings.map(({ entry, pairs }) => [entry, pairs])).toEqual([
        [
          0,
          [
            [0, 0],
            [0, 1],
            [1, 1],
          ],
        ],
        [1, [[1, 1]]],
      ]);
    });
  });
}
